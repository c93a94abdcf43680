//! Certificates, and the servers of Debian's packages with TLS.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Certificates made by `openssl`, for this test alone.
pub struct Certificates {
    dir: TempDir,
}

/// An authority of our own, and what it has signed: `CN localhost`, with 127.0.0.1.
const CONFIG: &str = "[ca]\ndefault_ca = ours\n[ours]\ndatabase = index\nserial = serial\n\
                      new_certs_dir = .\ndefault_md = sha256\npolicy = any\nunique_subject = no\n\
                      rand_serial = yes\n[any]\ncommonName = supplied\n[req]\n\
                      distinguished_name = name\n[name]\n[authority]\n\
                      basicConstraints = critical,CA:TRUE\n[server]\n\
                      subjectAltName = DNS:localhost,IP:127.0.0.1\n[other]\n\
                      subjectAltName = DNS:www.example.org\n";

impl Certificates {
    /// Makes them: `server`, `other` (of another name), `expired`.
    ///
    /// # Panics
    /// `openssl` cannot.
    #[must_use]
    pub fn make() -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-tls-").tempdir().expect("a place");
        let made = Self { dir };
        fs::write(made.path("openssl.cnf"), CONFIG).expect("a file");
        fs::write(made.path("index"), "").expect("a file");
        // Whoever serves may have become somebody else when it reads them.
        made.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key \
                      -out ca.pem -days 30000 -subj /CN=authority -config openssl.cnf \
                      -extensions authority",
        );
        for (name, extensions, from, to) in [
            ("server", "server", "20200101000000Z", "20991231000000Z"),
            ("other", "other", "20200101000000Z", "20991231000000Z"),
            ("expired", "server", "20200101000000Z", "20200201000000Z"),
        ] {
            made.openssl(&format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out \
                 {name}.csr -subj /CN=localhost -config openssl.cnf"
            ));
            made.openssl(&format!(
                "ca -batch -config openssl.cnf -cert ca.pem -keyfile ca.key -in {name}.csr -out \
                 {name}.pem -notext -extensions {extensions} -startdate {from} -enddate {to}"
            ));
        }
        made
    }

    fn openssl(&self, words: &str) {
        let mut command = Command::new("openssl");
        command.args(words.split_whitespace()).current_dir(self.dir.path());
        let output = command.output().expect("openssl");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {words}: {said}");
    }

    /// Where `name` is.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The authority's certificate, as checks name it.
    #[must_use]
    pub fn ca(&self) -> String {
        self.path("ca.pem").display().to_string()
    }

    fn copy(&self, name: &str, dir: &Path) -> (String, String) {
        let there = |end: &str| dir.join(format!("tls.{end}"));
        for end in ["pem", "key"] {
            fs::copy(self.path(&format!("{name}.{end}")), there(end)).expect("a copy");
        }
        (there("pem").display().to_string(), there("key").display().to_string())
    }
}

/// `openssl s_server` that answers HTTP, with the certificate `name` and more words.
pub fn s_server(
    made: &Certificates,
    name: &str,
    more: &str,
) -> impl FnOnce(&Path, u16) -> Command + use<> {
    let (pem, key) = (made.path(&format!("{name}.pem")), made.path(&format!("{name}.key")));
    let (ca, more) = (made.ca(), more.to_owned());
    move |_, port| {
        let mut command = Command::new("openssl");
        command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-CAfile", &ca]);
        command.arg("-cert").arg(pem).arg("-key").arg(key).args(more.split_whitespace());
        command
    }
}

/// stunnel before the server on `to`.
pub fn stunnel(made: &Certificates, to: u16) -> impl FnOnce(&Path, u16) -> Command + '_ {
    move |dir, port| {
        let (pem, key) = made.copy("server", dir);
        let file = dir.join("stunnel.conf");
        let text = format!(
            "foreground = yes\npid =\nsyslog = no\n[s]\naccept = 127.0.0.1:{port}\n\
             connect = 127.0.0.1:{to}\ncert = {pem}\nkey = {key}\n"
        );
        fs::write(&file, text).expect("a file");
        let mut command = Command::new("stunnel4");
        command.arg(file);
        command
    }
}

/// nginx that answers 200.
pub fn nginx(made: &Certificates) -> impl FnOnce(&Path, u16) -> Command + '_ {
    move |dir, port| {
        let (pem, key) = made.copy("server", dir);
        let place = dir.display();
        let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
        let file = dir.join("nginx.conf");
        let text = format!(
            "daemon off;\npid {place}/pid;\nerror_log {place}/error.log;\n{user}events {{ }}\n\
             http {{\n access_log off;\n client_body_temp_path {place}/a;\n proxy_temp_path \
             {place}/b;\n fastcgi_temp_path {place}/c;\n uwsgi_temp_path {place}/d;\n \
             scgi_temp_path {place}/e;\n server {{\n listen 127.0.0.1:{port} ssl;\n \
             ssl_protocols TLSv1.2 TLSv1.3;\n ssl_certificate {pem};\n ssl_certificate_key {key};\n location / {{ return 200 \
             'hello'; }}\n location /bad {{ return 503; }}\n }}\n}}\n"
        );
        fs::write(&file, text).expect("a file");
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(file);
        command
    }
}

/// Redis, in TLS alone.
pub fn redis(made: &Certificates) -> impl FnOnce(&Path, u16) -> Command + '_ {
    move |dir, port| {
        let (pem, key) = made.copy("server", dir);
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--daemonize", "no", "--save", "", "--port", "0"]);
        command.args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
        command.args(["--tls-cert-file", &pem, "--tls-key-file", &key, "--tls-ca-cert-file"]);
        command.arg(made.ca()).arg("--dir").arg(dir);
        command
    }
}

/// Mosquitto, in TLS alone, open to all.
pub fn mosquitto(made: &Certificates) -> impl FnOnce(&Path, u16) -> Command + '_ {
    move |dir, port| {
        let (pem, key) = made.copy("server", dir);
        let user = if rustix::process::geteuid().is_root() { "user root\n" } else { "" };
        let text = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\ncertfile {pem}\nkeyfile {key}\n{user}"
        );
        let file = dir.join("mosquitto.conf");
        fs::write(&file, text).expect("a file");
        let mut command = Command::new("/usr/sbin/mosquitto");
        command.arg("-c").arg(file);
        command
    }
}

/// HAProxy with the entrance that its preset asks, in TLS.
pub fn haproxy(made: &Certificates) -> impl FnOnce(&Path, u16) -> Command + '_ {
    move |dir, port| {
        let (pem, key) = made.copy("server", dir);
        let both = [pem, key].map(|path| fs::read_to_string(path).expect("a file")).concat();
        let (file, pem) = (dir.join("haproxy.cfg"), dir.join("both.pem"));
        fs::write(&pem, both).expect("a file");
        let text = format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\n\
             frontend health\n bind 127.0.0.1:{port} ssl crt {}\n monitor-uri /health\n",
            pem.display()
        );
        fs::write(&file, text).expect("a file");
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-db").arg("-f").arg(file);
        command
    }
}

/// Who is let in by PostgreSQL over TLS, and what more it is started with.
pub const POSTGRES: (&str, &[&str]) = (
    "local all postgres trust\nhostssl all all 127.0.0.1/32 trust\n",
    &["-c", "ssl=on", "-c", "ssl_cert_file=../cert.pem", "-c", "ssl_key_file=../key.pem"],
);

/// Lines for slapd's configuration.
#[must_use]
pub fn slapd_lines(made: &Certificates) -> &'static str {
    let (pem, key) = (made.path("server.pem"), made.path("server.key"));
    let text =
        format!("TLSCertificateFile {}\nTLSCertificateKeyFile {}", pem.display(), key.display());
    Box::leak(text.into_boxed_str())
}

/// Lines for postfix's `main.cf`.
#[must_use]
pub fn postfix_lines(made: &Certificates) -> &'static str {
    let (pem, key) = (made.path("server.pem"), made.path("server.key"));
    let text = format!(
        "smtpd_tls_cert_file = {}\nsmtpd_tls_key_file = {}\nsmtpd_tls_security_level = may\n\
         tls_random_source = dev:/dev/urandom",
        pem.display(),
        key.display()
    );
    Box::leak(text.into_boxed_str())
}

/// Lines for vsftpd; with `implicit` it begins with TLS.
#[must_use]
pub fn vsftpd_lines(made: &Certificates, implicit: bool) -> String {
    let (pem, key) = (made.path("server.pem"), made.path("server.key"));
    let implicit = if implicit { "implicit_ssl=YES\n" } else { "" };
    format!(
        "ssl_enable=YES\nallow_anon_ssl=YES\nforce_local_logins_ssl=NO\nforce_local_data_ssl=NO\n\
         rsa_cert_file={}\nrsa_private_key_file={}\n{implicit}",
        pem.display(),
        key.display()
    )
}

/// A port before the one `to`, which passes on only `limit` bytes of what the server says to
/// each connection: then it hangs up, or with `stays` says nothing more.
///
/// # Panics
/// Loopback has no port.
#[must_use]
pub fn cut_off(to: u16, limit: usize, stays: bool) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            // A client or server that has hung up is what is wanted of it.
            let _ = pass_on(client, to, limit, stays);
        }
    });
    address
}

fn pass_on(mut client: TcpStream, to: u16, limit: usize, stays: bool) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let mut left = limit;
    let mut bytes = [0; 4096];
    while left > 0 {
        let length = server.read(&mut bytes)?.min(left);
        if length == 0 {
            break;
        }
        client.write_all(&bytes[..length])?;
        left -= length;
    }
    if !stays {
        client.shutdown(Shutdown::Write)?;
    }
    while server.read(&mut bytes)? > 0 {}
    Ok(())
}
