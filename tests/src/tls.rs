//! Certificates and TLS servers made with `openssl`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn openssl(dir: &Path, arguments: &[&str]) {
    let mut command = Command::new("openssl");
    let output = command.current_dir(dir).args(arguments).output().expect("openssl");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
}

/// An authority, and what it signed, in a directory.
pub struct Papers {
    dir: tempfile::TempDir,
}

impl Papers {
    /// An authority of its own with a certificate `server` for `server.example` and 127.0.0.1.
    ///
    /// # Panics
    /// `openssl` is missing or fails.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-papers-").tempdir().expect("a place");
        let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
                       -subj /CN=authority -keyout ca.key -out ca.pem -addext keyUsage=keyCertSign";
        let words: Vec<&str> = request.split_whitespace().collect();
        openssl(dir.path(), &words);
        let papers = Self { dir };
        papers.sign("server", "DNS:server.example,IP:127.0.0.1", 10);
        papers
    }

    /// Signs a certificate `name` for `names` that is valid for so many days.
    ///
    /// # Panics
    /// `openssl` fails.
    pub fn sign(&self, name: &str, names: &str, days: i32) {
        let dir = self.dir.path();
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        let (out, extensions) = (format!("{name}.pem"), format!("{name}.ext"));
        std::fs::write(dir.join(&extensions), format!("subjectAltName={names}\n")).expect("a file");
        let make = format!(
            "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name} \
             -keyout {key} -out {request}"
        );
        openssl(dir, &make.split_whitespace().collect::<Vec<_>>());
        let sign = format!(
            "x509 -req -in {request} -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} \
             -extfile {extensions} -out {out}"
        );
        openssl(dir, &sign.split_whitespace().collect::<Vec<_>>());
    }

    /// The file called `name`: `ca.pem`, `server.key`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `openssl s_server` with the certificate `name` and more arguments.
    pub fn s_server(
        &self,
        name: &str,
        more: &[&str],
    ) -> impl FnOnce(&Path, u16) -> Command + use<> {
        let (cert, key) = (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        move |_, port| {
            let mut command = Command::new("openssl");
            command.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}")]);
            command.arg("-cert").arg(cert).arg("-key").arg(key).args(more);
            command
        }
    }
}

impl Default for Papers {
    fn default() -> Self {
        Self::new()
    }
}
