//! Pools under test: a real HAProxy, nginx members that say who they are, and a bounded load.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Daemon, PATIENCE, free_port, wait_for};

/// An HAProxy with a configuration of the test's, and its administrative socket.
pub struct Haproxy {
    dir: TempDir,
    child: Option<Child>,
    port: u16,
}

impl Haproxy {
    /// Runs one whose frontend listens at `port`; `text` is what follows of its configuration, in
    /// which `$DIR` is its directory.
    ///
    /// # Panics
    /// It does not run.
    #[must_use]
    pub fn start(port: u16, text: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-haproxy-").tempdir().expect("a place");
        let socket = dir.path().join("admin.sock");
        let text = format!(
            "global\n  stats socket {} level admin\n  nbthread 1\n\
             defaults\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n{text}",
            socket.display()
        );
        let text = text.replace("$DIR", &dir.path().display().to_string());
        fs::write(dir.path().join("haproxy.cfg"), text).expect("a configuration");
        let mut haproxy = Self { dir, child: None, port };
        haproxy.run();
        haproxy
    }

    fn run(&mut self) {
        let log =
            fs::File::options().create(true).append(true).open(self.log_path()).expect("a log");
        let child = Command::new("/usr/sbin/haproxy")
            .arg("-f")
            .arg(self.dir.path().join("haproxy.cfg"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("haproxy runs");
        self.child = Some(child);
        wait_for("haproxy to listen", || {
            let child = self.child.as_mut().expect("running");
            if let Some(status) = child.try_wait().expect("its status") {
                panic!("haproxy ended with {status}:\n{}", self.log());
            }
            TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
    }

    /// Kills it and runs it again, with nothing but its configuration.
    ///
    /// # Panics
    /// It does not run again.
    pub fn restart(&mut self) {
        self.end();
        self.run();
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// What it wrote.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Its administrative socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("admin.sock")
    }

    /// Where its frontend listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Asks it something over that socket.
    ///
    /// # Panics
    /// It does not answer.
    #[must_use]
    pub fn ask(&self, command: &str) -> String {
        // It takes the place of an old one's socket a moment after it has begun to listen.
        let connect = || std::os::unix::net::UnixStream::connect(self.socket()).ok();
        let mut stream = wait_for("haproxy's socket", connect);
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.write_all(format!("{command}\n").as_bytes()).expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    /// The status of a server, as its statistics have it: `UP`, `DOWN (agent)`, `DRAIN`, `MAINT`.
    #[must_use]
    pub fn status_of(&self, backend: &str, server: &str) -> Option<String> {
        self.sessions_of(backend, server).map(|(status, _)| status)
    }

    /// The status of a server, and how many sessions it was given so far.
    #[must_use]
    pub fn sessions_of(&self, backend: &str, server: &str) -> Option<(String, u64)> {
        let text = self.ask("show stat");
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next()?.trim_start_matches("# ").split(',').collect();
        let line = lines.find(|line| line.starts_with(&format!("{backend},{server},")))?;
        let value = |name: &str| {
            let column = names.iter().position(|known| *known == name)?;
            line.split(',').nth(column)
        };
        let status = value("status")?;
        // Without a check of its own HAProxy takes a server for up, and says so.
        let status = if status == "no check" { "UP" } else { status };
        Some((status.to_owned(), value("stot")?.parse().ok()?))
    }

    /// Waits until a server has a status that begins so.
    ///
    /// # Panics
    /// It does not come to that.
    pub fn wait_status(&self, backend: &str, server: &str, wanted: &str) {
        wait_for(&format!("haproxy to have {server} {wanted}"), || {
            let status = self.status_of(backend, server)?;
            status.starts_with(wanted).then_some(())
        });
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("--- haproxy's log:\n{}", self.log());
        }
    }
}

/// An nginx that answers every request with its name.
pub fn named_nginx(name: &'static str) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let file = dir.join("nginx.conf");
        let dir = dir.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String =
            temporary.iter().map(|it| format!("{it}_temp_path {dir}/{it}; ")).collect();
        let text = format!(
            "daemon off; pid {dir}/nginx.pid; error_log stderr; worker_processes 1; events {{}}\n\
             http {{ access_log off; {temporary}\
             server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"{name}\"; }} }} }}\n"
        );
        fs::write(&file, text).expect("a configuration");
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(file).arg("-p").arg(dir.to_string()).args(["-e", "stderr"]);
        command
    }
}

/// One answer of the load: when it was asked for, when it came, and what it said.
#[derive(Clone, Debug)]
pub struct Served {
    /// When the request was sent.
    pub asked: SystemTime,
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A client that asks again and again, one request at a time and some hundred a second at most.
pub struct Load {
    stop: Arc<AtomicBool>,
    served: Arc<Mutex<Vec<Served>>>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    /// Begins to ask at `port`.
    #[must_use]
    pub fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let served = Arc::new(Mutex::new(Vec::new()));
        let (stopping, list) = (stop.clone(), served.clone());
        let thread = std::thread::spawn(move || {
            while !stopping.load(Ordering::Relaxed) {
                let asked = SystemTime::now();
                if let Ok(answer) = get(port, "/", Duration::from_secs(2)) {
                    let served = Served { asked, status: answer.status, body: answer.text() };
                    list.lock().expect("the list").push(served);
                }
                std::thread::park_timeout(Duration::from_millis(5));
            }
        });
        Self { stop, served, thread: Some(thread) }
    }

    /// What was served so far.
    ///
    /// # Panics
    /// The client has panicked.
    #[must_use]
    pub fn served(&self) -> Vec<Served> {
        self.served.lock().expect("the list").clone()
    }

    /// Waits until so many more answers have come.
    pub fn wait_for_more(&self, count: usize) {
        let before = self.served().len();
        wait_for("more answers", || (self.served().len() >= before + count).then_some(()));
    }

    /// Who answered the last `count` requests, each once.
    #[must_use]
    pub fn last(&self, count: usize) -> Vec<String> {
        let served = self.served();
        let last = served.iter().rev().take(count);
        let mut names: Vec<String> = last.map(|it| it.body.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An answer, all of it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// One GET on a connection of its own.
///
/// # Errors
/// There is no whole answer.
pub fn get(port: u16, path: &str, patience: Duration) -> io::Result<Answer> {
    let mut stream = connect(port, patience)?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    read(&mut BufReader::new(stream), false)
}

/// One POST of so many bytes, all of them sent before anything is read.
///
/// # Errors
/// There is no whole answer.
pub fn post(port: u16, bytes: usize, patience: Duration) -> io::Result<Answer> {
    let mut stream = connect(port, patience)?;
    let head = format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {bytes}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let piece = vec![b'x'; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        stream.write_all(&piece[..now])?;
        left -= now;
    }
    read(&mut BufReader::new(stream), false)
}

/// A connection to loopback that does not wait for ever.
///
/// # Errors
/// Nobody is there.
pub fn connect(port: u16, patience: Duration) -> io::Result<TcpStream> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

/// Reads one answer to its end, which its length or the end of the connection says.
///
/// # Errors
/// It is cut short.
pub fn read(stream: &mut impl BufRead, is_head: bool) -> io::Result<Answer> {
    let bad = || io::Error::from(io::ErrorKind::InvalidData);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(bad)?;
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, fields, body: Vec::new() };
    if is_head {
        return Ok(answer);
    }
    match answer.field("content-length").map(str::parse::<usize>) {
        Some(length) => {
            answer.body = vec![0; length.map_err(|_| bad())?];
            stream.read_exact(&mut answer.body)?;
        }
        None => {
            stream.read_to_end(&mut answer.body)?;
        }
    }
    Ok(answer)
}

impl Daemon {
    /// Runs the command line, which must succeed; what it prints does not matter.
    ///
    /// # Panics
    /// It fails.
    pub fn tell(&self, arguments: &[&str]) {
        let _ = self.ok(arguments);
    }

    /// A member of a pool of `status --json`.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn member(&self, pool: &str, member: &str) -> Value {
        let status = self.status().expect("an answer");
        let found = |list: &Value, name: &str| {
            let items = list.as_array().expect("a list");
            items.iter().find(|it| it["name"] == name).cloned()
        };
        let pool = found(&status["pools"], pool).expect("the pool");
        found(&pool["members"], member).expect("the member")
    }

    /// Waits until a member is in this state.
    ///
    /// # Panics
    /// It does not come to that.
    pub fn wait_member(&self, pool: &str, member: &str, state: &str) -> Value {
        // Silence of an agent takes longer than ten seconds by itself, and begins anew where we did not
        // run for a while.
        let end = Instant::now() + 6 * PATIENCE;
        loop {
            let found = self.member(pool, member);
            if found["state"] == state {
                return found;
            }
            assert!(
                Instant::now() < end,
                "waited for {member} {state}: {found}\n{}",
                self.log_text()
            );
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// When the last line that ends in `text` was logged.
    #[must_use]
    pub fn logged(&self, text: &str) -> Option<SystemTime> {
        let log = self.log_text();
        let line = log.lines().rev().find(|line| line.ends_with(text))?;
        let at = line.split(' ').next()?;
        let moment = giveover::report::time::Moment::parse(at)?;
        let epoch = giveover::report::time::Moment::parse("1970-01-01T00:00:00.000Z")?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_millis(moment.since(epoch)))
    }
}

/// A port for each of so many.
#[must_use]
pub fn ports<const N: usize>() -> [u16; N] {
    std::array::from_fn(|_| free_port())
}
