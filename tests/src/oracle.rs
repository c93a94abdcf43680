//! An installation of Oracle in which a stand-in speaks like its programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An installation with its moods.
#[derive(Debug)]
pub struct Oracle {
    home: TempDir,
}

impl Oracle {
    /// An installation in which the stand-in `program` is `sqlplus` and `lsnrctl`, and all is well.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn new(program: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("giveover-oracle-").tempdir().expect("a home");
        // Whoever runs the client must reach it.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).expect("its mode");
        let bin = home.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        for name in ["sqlplus", "lsnrctl"] {
            symlink(program, bin.join(name)).expect("a program");
        }
        let oracle = Self { home };
        oracle.mood("ok");
        oracle.listener("up");
        oracle
    }

    /// Where `name` is.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        // In one go: nobody reads half of it.
        fs::write(self.path("next"), text).expect("a mood");
        fs::rename(self.path("next"), self.path(name)).expect("a mood");
    }

    /// Has the database be like this: `ok`, `idle`, `hang`, `die`, `down`, `error N`.
    pub fn mood(&self, mood: &str) {
        self.put("mood", mood);
    }

    /// Has the listener be like this: `up`, `down`, `locked`, `hang`.
    pub fn listener(&self, mood: &str) {
        self.put("listener", mood);
    }

    /// What was said to it, a line each.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        let said = fs::read_to_string(self.path("said")).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }

    /// How often `line` was said.
    #[must_use]
    pub fn count(&self, line: &str) -> usize {
        self.said().iter().filter(|said| *said == line).count()
    }

    /// `ORACLE_HOME`.
    #[must_use]
    pub fn home(&self) -> String {
        self.home.path().display().to_string()
    }

    /// A file with this password, which nobody else can read.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn password(&self, text: &str) -> String {
        let path = self.path(&format!("password-{text}"));
        fs::write(&path, text).expect("a password");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("its mode");
        path.display().to_string()
    }
}
