//! How the servers of Debian's packages are started in the foreground, each on a loopback port,
//! with nothing of the machine's own configuration.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file of the server");
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Redis, with more arguments.
pub fn redis(more: &[&str]) -> impl FnOnce(&Path, u16) -> Command {
    let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
    move |dir, port| {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--daemonize", "no", "--save", ""]);
        command.arg("--port").arg(port.to_string()).arg("--dir").arg(dir).args(more);
        command
    }
}

/// Apache with two hosts by name: `www.example.org` has `/` and the slow `/slow.html`, on
/// `broken.example.org` everything is an error of the server's.
pub fn apache() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let place = dir.display();
        let pages = dir.join("pages");
        fs::create_dir(&pages).expect("a directory");
        write(&pages.join("index.html"), "<p>ready</p>\n");
        write(&pages.join("slow.html"), &"slow ".repeat(20_000));
        // Its workers are somebody else's.
        run(Command::new("chmod").args(["-R", "a+rX"]).arg(dir));
        let user = if is_root() { "User www-data\nGroup www-data\n" } else { "" };
        let modules = ["mpm_prefork", "authz_core", "alias", "dir", "env", "ratelimit"];
        let modules: String = modules
            .iter()
            .map(|name| {
                format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
            })
            .collect();
        let file = dir.join("apache.conf");
        write(
            &file,
            &format!(
                "ServerRoot {place}\nDefaultRuntimeDir {place}\nPidFile {place}/pid\n\
                 Listen 127.0.0.1:{port}\nServerName www.example.org\n{modules}{user}\
                 ErrorLog {place}/error.log\nDirectoryIndex index.html\n\
                 StartServers 2\nMinSpareServers 1\nMaxSpareServers 2\n\
                 <VirtualHost *:{port}>\nServerName www.example.org\nDocumentRoot {place}/pages\n\
                 <Location /slow.html>\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 1\n\
                 </Location>\n</VirtualHost>\n\
                 <VirtualHost *:{port}>\nServerName broken.example.org\nRedirect 500 /\n\
                 </VirtualHost>\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/apache2");
        command.args(["-D", "FOREGROUND", "-f"]).arg(file);
        command
    }
}

/// HAProxy with the entrance that its preset asks.
pub fn haproxy() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let file = dir.join("haproxy.cfg");
        write(
            &file,
            &format!(
                "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\n\
                 frontend health\n bind 127.0.0.1:{port}\n monitor-uri /health\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-db").arg("-f").arg(file);
        command
    }
}

/// nginx that answers 200; what it was asked is in `access.log`.
pub fn nginx() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let place = dir.display();
        let file = dir.join("nginx.conf");
        write(
            &file,
            &format!(
                "daemon off;\npid {place}/pid;\nevents {{}}\nhttp {{\n\
                 access_log {place}/access.log;\nclient_body_temp_path {place}/b;\n\
                 proxy_temp_path {place}/p;\nfastcgi_temp_path {place}/f;\n\
                 uwsgi_temp_path {place}/u;\nscgi_temp_path {place}/s;\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }} }}\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-e").arg("stderr").arg("-p").arg(dir).arg("-c").arg(file);
        command
    }
}

/// nginx with two hosts by name: `www.example.org` has `/` and the slow `/slow.html`, on
/// `broken.example.org` everything is an error of the server's.
pub fn nginx_by_name() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let place = dir.display();
        let pages = dir.join("pages");
        fs::create_dir(&pages).expect("a directory");
        write(&pages.join("slow.html"), &"slow ".repeat(20_000));
        let user = if is_root() { "user root;\n" } else { "" };
        let file = dir.join("nginx.conf");
        write(
            &file,
            &format!(
                "daemon off;\n{user}pid {place}/pid;\nevents {{}}\nhttp {{\n\
                 access_log off;\nclient_body_temp_path {place}/b;\n\
                 proxy_temp_path {place}/p;\nfastcgi_temp_path {place}/f;\n\
                 uwsgi_temp_path {place}/u;\nscgi_temp_path {place}/s;\n\
                 server {{ listen 127.0.0.1:{port}; server_name www.example.org;\n\
                 location = / {{ return 200 ready; }}\n\
                 location = /slow.html {{ root {place}/pages; limit_rate_after 1k; limit_rate 64; }}\n\
                 location / {{ return 404; }} }}\n\
                 server {{ listen 127.0.0.1:{port}; server_name broken.example.org;\n\
                 location / {{ return 500; }} }} }}\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-e").arg("stderr").arg("-p").arg(dir).arg("-c").arg(file);
        command
    }
}

/// Mosquitto, open to all or to nobody.
pub fn mosquitto(open: bool) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let user = if is_root() { "user root\n" } else { "" };
        let text = format!("listener {port} 127.0.0.1\nallow_anonymous {open}\n{user}");
        let file = dir.join("mosquitto.conf");
        write(&file, &text);
        let mut command = Command::new("/usr/sbin/mosquitto");
        command.arg("-c").arg(file);
        command
    }
}

/// Mosquitto, open to `user` alone.
pub fn mosquitto_knowing(
    user: &'static str,
    password: &'static str,
) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let users = dir.join("users");
        run(Command::new("mosquitto_passwd").args(["-c", "-b"]).arg(&users).args([user, password]));
        let root = if is_root() { "user root\n" } else { "" };
        let text = format!(
            "listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {}\n{root}",
            users.display()
        );
        let file = dir.join("mosquitto.conf");
        write(&file, &text);
        let mut command = Command::new("/usr/sbin/mosquitto");
        command.arg("-c").arg(file);
        command
    }
}

/// OpenLDAP with one entry, `dc=example,dc=org`.
pub fn slapd(more: &'static str) -> impl FnOnce(&Path, u16) -> Command {
    slapd_as("ldap", more)
}

/// The same, with somebody who has a password.
pub fn slapd_knowing(
    user: &'static str,
    password: &'static str,
) -> impl FnOnce(&Path, u16) -> Command {
    slapd_of("ldap", "disallow bind_anon", format!("rootdn \"{user}\"\nrootpw {password}\n"))
}

/// The same, speaking `ldap` or `ldaps`.
pub fn slapd_as(scheme: &'static str, more: &'static str) -> impl FnOnce(&Path, u16) -> Command {
    slapd_of(scheme, more, String::new())
}

fn slapd_of(
    scheme: &'static str,
    more: &'static str,
    root: String,
) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let (place, file) = (dir.display(), dir.join("slapd.conf"));
        fs::create_dir(dir.join("db")).expect("a directory");
        write(
            &file,
            &format!(
                "include /etc/ldap/schema/core.schema\npidfile {place}/pid\n{more}\n\
                 modulepath /usr/lib/ldap\nmoduleload back_mdb\ndatabase mdb\n\
                 suffix \"dc=example,dc=org\"\ndirectory {place}/db\n{root}"
            ),
        );
        let entry = dir.join("entry.ldif");
        write(
            &entry,
            "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\n\
             dc: example\no: example\n",
        );
        run(Command::new("/usr/sbin/slapadd").arg("-f").arg(&file).arg("-l").arg(entry));
        let mut command = Command::new("/usr/sbin/slapd");
        command.args(["-d", "0", "-h", &format!("{scheme}://127.0.0.1:{port}/"), "-f"]).arg(file);
        command
    }
}

/// The programs of the PostgreSQL that is installed.
fn postgres_bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL");
    let mut bins: Vec<PathBuf> =
        versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).collect();
    bins.retain(|bin| bin.join("postgres").exists());
    bins.sort();
    bins.pop().expect("PostgreSQL")
}

/// As PostgreSQL's own user if we are root, whom it refuses to be.
fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// PostgreSQL whose clients prove who they are by `method`: `trust`, `scram-sha-256`, `reject`.
pub fn postgres(
    method: &'static str,
    more: &'static [&'static str],
) -> impl FnOnce(&Path, u16) -> Command {
    postgres_with(&format!("host all all 127.0.0.1/32 {method}\n"), more)
}

/// A standby of the one that has its socket in `primary`, behind `port`.
pub fn standby(primary: PathBuf, of: u16) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let bin = postgres_bin();
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(dir));
        }
        let data = dir.join("data");
        let mut backup = as_postgres(&bin.join("pg_basebackup"));
        backup.args(["-U", "postgres", "-p", &of.to_string(), "-c", "fast", "-R", "-h"]);
        run(backup.arg(primary).arg("-D").arg(&data));
        let mut command = as_postgres(&bin.join("postgres"));
        command.arg("-D").arg(data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-F", "-k"]);
        command.arg(dir);
        command
    }
}

/// PostgreSQL with these lines about who is let in. A certificate of its own, for
/// `db.example.org`, is in `cert.pem`.
pub fn postgres_with(
    hba: &str,
    more: &'static [&'static str],
) -> impl FnOnce(&Path, u16) -> Command + use<> {
    let hba = hba.to_owned();
    move |dir, port| {
        let bin = postgres_bin();
        if more.contains(&"ssl=on") {
            let key = dir.join("key.pem");
            run(Command::new("openssl")
                .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"])
                .args(["/CN=db.example.org", "-addext", "subjectAltName=DNS:db.example.org"])
                .args(["-addext", "basicConstraints=critical,CA:FALSE"])
                .arg("-keyout")
                .arg(&key)
                .arg("-out")
                .arg(dir.join("cert.pem")));
            run(Command::new("chmod").arg("600").arg(&key));
            if is_root() {
                run(Command::new("chown").arg("postgres").arg(&key));
            }
        }
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(dir));
        }
        let data = dir.join("data");
        let mut init = as_postgres(&bin.join("initdb"));
        run(init.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "--no-sync"]));
        write(&data.join("pg_hba.conf"), &hba);
        let mut command = as_postgres(&bin.join("postgres"));
        command.arg("-D").arg(data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-F", "-k"]);
        command.arg(dir).args(more);
        command
    }
}

/// What pgpool-II's own commands say to prove who they are, as `postgres`.
pub const PCP_PASSWORD: &str = "secret";
/// Its MD5, as pgpool-II has it.
const PCP_MD5: &str = "5ebe2294ecd0e0f08eab7690d2a6ee69";

/// pgpool-II over `backends`, with its files in `place`, listening at `at` and commanded at `pcp` of
/// loopback: the words that run it.
///
/// # Panics
/// Its files cannot be written.
#[must_use]
pub fn pgpool(place: &Path, at: SocketAddr, pcp: u16, backends: [SocketAddr; 2]) -> Vec<String> {
    let dir = place.display();
    let mut text = format!(
        "backend_clustering_mode = 'raw'\nlisten_addresses = '{}'\nport = {}\n\
         unix_socket_directories = '{dir}'\npcp_socket_dir = '{dir}'\n\
         pcp_listen_addresses = '127.0.0.1'\npcp_port = {pcp}\n\
         pid_file_name = '{dir}/pgpool.pid'\nlogdir = '{dir}'\n\
         num_init_children = 4\nmax_pool = 1\nsr_check_period = 0\nhealth_check_period = 0\n\
         enable_pool_hba = off\nfailover_on_backend_error = off\n",
        at.ip(),
        at.port()
    );
    for (number, backend) in backends.iter().enumerate() {
        text += &format!(
            "backend_hostname{number} = '{}'\nbackend_port{number} = {}\n\
             backend_weight{number} = 1\nbackend_flag{number} = 'ALLOW_TO_FAILOVER'\n",
            backend.ip(),
            backend.port()
        );
    }
    write(&place.join("pgpool.conf"), &text);
    write(&place.join("pcp.conf"), &format!("postgres:{PCP_MD5}\n"));
    let file = |name: &str| place.join(name).display().to_string();
    ["pgpool", "-n", "-D", "-f", &file("pgpool.conf"), "-F", &file("pcp.conf")]
        .map(str::to_owned)
        .to_vec()
}

/// vsftpd that lets so many clients in at once.
pub fn vsftpd(max_clients: u8) -> impl FnOnce(&Path, u16) -> Command {
    vsftpd_with(max_clients, String::new())
}

/// The same with more lines.
pub fn vsftpd_with(max_clients: u8, more: String) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let place = dir.display();
        let file = dir.join("vsftpd.conf");
        write(
            &file,
            &format!(
                "listen=YES\nlisten_ipv6=NO\nlisten_address=127.0.0.1\nlisten_port={port}\n\
                 background=NO\nanonymous_enable=YES\nanon_root={place}\n\
                 run_as_launching_user=YES\nsecure_chroot_dir={place}\nxferlog_enable=NO\n\
                 seccomp_sandbox=NO\nmax_clients={max_clients}\n{more}"
            ),
        );
        let mut command = Command::new("/usr/sbin/vsftpd");
        command.arg(file);
        command
    }
}

/// A server of the inetd kind behind `tcpsvd`, which listens for it.
fn behind_tcpsvd(port: u16, program: &[&str]) -> Command {
    let mut command = Command::new("tcpsvd");
    // With a name of ours it asks no name server for one.
    command.args(["-l", "localhost", "127.0.0.1", &port.to_string()]).args(program);
    command
}

/// The TELNET server of GNU's inetutils.
pub fn telnetd() -> impl FnOnce(&Path, u16) -> Command {
    |_, port| behind_tcpsvd(port, &["/usr/sbin/telnetd"])
}

/// Leafnode, which refuses to serve on a host whose name is not of the world.
pub fn leafnode(host: &'static str) -> impl FnOnce(&Path, u16) -> Command {
    move |_, port| {
        let script = format!("hostname {host} && exec /usr/sbin/leafnode");
        behind_tcpsvd(port, &["unshare", "--uts", "sh", "-c", &script])
    }
}

/// Dovecot on IMAP; POP3 is on the port in `pop3`.
pub fn dovecot(pop3: u16) -> impl FnOnce(&Path, u16) -> Command {
    dovecot_with(pop3, (0, 0), String::from("ssl = no\n"))
}

/// The same with IMAP and POP3 in TLS on two ports, zero for none, and lines about TLS.
pub fn dovecot_with(
    pop3: u16,
    secure: (u16, u16),
    ssl: String,
) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let place = dir.display();
        let id = |flag: &str| {
            let output = Command::new("id").arg(flag).output().expect("id");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        let users = if is_root() {
            String::new()
        } else {
            let (user, group) = (id("-un"), id("-gn"));
            format!(
                "default_internal_user = {user}\ndefault_login_user = {user}\n\
                 default_internal_group = {group}\n"
            )
        };
        let listener = |name: &str, port: u16, secure: u16| {
            let ssl = if secure > 0 { "\n ssl = yes" } else { "" };
            format!(
                "inet_listener {name} {{\n port = {port}\n}}\n\
                 inet_listener {name}s {{\n port = {secure}{ssl}\n}}\n"
            )
        };
        let file = dir.join("dovecot.conf");
        fs::create_dir(dir.join("run")).expect("a directory");
        write(
            &file,
            &format!(
                "base_dir = {place}/run\nlog_path = {place}/dovecot.log\nprotocols = imap pop3\n\
                 listen = 127.0.0.1\n{ssl}{users}mail_location = maildir:{place}/mail\n\
                 passdb {{\n driver = static\n args = password=x\n}}\n\
                 userdb {{\n driver = static\n args = uid=nobody gid=nogroup home={place}\n}}\n\
                 service anvil {{\n chroot =\n}}\n\
                 service imap-login {{\n chroot =\n{}}}\nservice pop3-login {{\n chroot =\n{}}}\n",
                listener("imap", port, secure.0),
                listener("pop3", pop3, secure.1)
            ),
        );
        let mut command = Command::new("/usr/sbin/dovecot");
        command.arg("-F").arg("-c").arg(file);
        command
    }
}

/// Postfix, receiving only. Root alone can start it.
pub fn postfix(more: &'static str) -> impl FnOnce(&Path, u16) -> Command {
    postfix_with(more, "")
}

/// The same with options of its server.
pub fn postfix_with(
    more: &'static str,
    options: &'static str,
) -> impl FnOnce(&Path, u16) -> Command {
    move |dir, port| {
        let place = dir.display();
        let conf = dir.join("conf");
        for name in ["conf", "queue", "data"] {
            fs::create_dir(dir.join(name)).expect("a directory");
        }
        // Its processes are somebody else's, and look for their files here.
        run(Command::new("chmod").arg("755").arg(dir));
        run(Command::new("chown").arg("postfix").arg(dir.join("data")));
        write(
            &conf.join("main.cf"),
            &format!(
                "compatibility_level = 3.6\nqueue_directory = {place}/queue\n\
                 data_directory = {place}/data\ncommand_directory = /usr/sbin\n\
                 daemon_directory = /usr/lib/postfix/sbin\nmail_owner = postfix\n\
                 setgid_group = postdrop\ninet_interfaces = 127.0.0.1\ninet_protocols = ipv4\n\
                 mydestination =\nmyhostname = mail.example.org\nalias_maps =\n\
                 alias_database =\nsmtpd_peername_lookup = no\nmaillog_file = {place}/log\n\
                 maillog_file_prefixes = {place}\n{more}\n"
            ),
        );
        write(
            &conf.join("master.cf"),
            &format!(
                "127.0.0.1:{port} inet n - n - - smtpd {options}\ntlsmgr unix - - n 1000? 1 tlsmgr\nproxymap unix - - n - - proxymap\n\
                 anvil unix - - n - 1 anvil\nrewrite unix - - n - - trivial-rewrite\n\
                 cleanup unix n - n - 0 cleanup\nbounce unix - - n - 0 bounce\n\
                 postlog unix-dgram n - n - 1 postlogd\n"
            ),
        );
        run(Command::new("/usr/sbin/postfix").arg("-c").arg(&conf).arg("check"));
        let mut command = Command::new("/usr/lib/postfix/sbin/master");
        command.env("MAIL_CONFIG", &conf).arg("-d").arg("-c").arg(conf);
        command
    }
}

/// BIND, authoritative for `example.org` and for `example.net`, whose file is lost.
pub fn named() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let place = dir.display();
        write(
            &dir.join("zone"),
            "$TTL 60\n@ SOA ns.example.org. root.example.org. 1 60 60 60 60\n\
             @ NS ns.example.org.\nns A 192.0.2.1\n",
        );
        let file = dir.join("named.conf");
        write(
            &file,
            &format!(
                "options {{ directory \"{place}\"; listen-on port {port} {{ 127.0.0.1; }};\n\
                 listen-on-v6 {{ none; }}; pid-file none; session-keyfile none;\n\
                 recursion no; dnssec-validation no; }};\n\
                 controls {{ }};\n\
                 zone \"example.org\" {{ type master; file \"{place}/zone\"; }};\n\
                 zone \"example.net\" {{ type master; file \"{place}/lost\"; }};\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/named");
        command.arg("-g").arg("-c").arg(file);
        command
    }
}

/// Unbound with a record of its own; what is in `example.net` it refuses to say, and for `example.com`
/// it has nobody to ask.
pub fn unbound() -> impl FnOnce(&Path, u16) -> Command {
    |dir, port| {
        let place = dir.display();
        let file = dir.join("unbound.conf");
        write(
            &file,
            &format!(
                "server:\n interface: 127.0.0.1\n port: {port}\n do-daemonize: no\n\
                 username: \"\"\n chroot: \"\"\n directory: \"{place}\"\n pidfile: \"\"\n\
                 use-syslog: no\n access-control: 127.0.0.0/8 allow\n\
                 module-config: \"iterator\"\n\
                 local-zone: \"example.net\" always_refuse\n\
                 local-zone: \"example.org\" static\n\
                 local-data: \"ns.example.org A 192.0.2.1\"\n\
                 forward-zone:\n name: \"example.com\"\n forward-addr: 127.0.0.1@9\n\
                 remote-control:\n control-enable: no\n"
            ),
        );
        let mut command = Command::new("/usr/sbin/unbound");
        command.arg("-d").arg("-c").arg(file);
        command
    }
}
