//! Servers whose mode and ports stand in their own configuration: iPlanet's web server and
//! directory. The daemon reads it, and again when it has changed.

use giveover_core::weight::Weight;
use serde::{Deserialize, Serialize};

use super::plan::{Host, Kind, Targets};

/// Such a server, as the file has it; what was found in its configuration is laid over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Whose configuration.
    pub form: Form,
    /// The file; without one it is plain, on the ports that are written.
    pub file: Option<Box<str>>,
    /// Its hosts, where the ports are those of its configuration.
    pub hosts: Option<Vec<Host>>,
    /// What is asked of a plain one.
    pub plain: Kind,
    /// Whom, as far as that is written.
    pub targets: Targets,
    /// What being late weighs where it is plain.
    pub late: Option<Weight>,
}

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// `magnus.conf` of iPlanet Web Server.
    Magnus,
    /// `slapd.conf` of iPlanet Directory Server.
    Slapd,
}

/// The code of a configuration that cannot be used, as causes carry it.
pub const UNPARSABLE: u16 = 64_200;

impl Form {
    /// The word of the kind of check.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Magnus => "iplanet",
            Self::Slapd => "directory",
        }
    }
}
