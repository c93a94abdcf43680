//! The command of a promotion, from its record to its end: it begins once, and what cut it short is
//! not forgotten.
//!
//! Nobody can tell whether a command that was cut short has done its work, and to run it twice may
//! harm: so it is begun at most once. What had not begun when the daemon ended is begun by the next
//! one; what had is for a person to look at.

use giveover_core::node::Node;
use giveover_core::share::Number;
use serde::{Deserialize, Serialize};

/// The promotion that a node heard of last, and what became of its command there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The shared command that it is of.
    pub number: Number,
    /// Who is to be the primary, by its place in the pool.
    pub member: Node,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a promotion's command has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// It is to be run, and has not begun.
    Owed,
    /// It runs; or did when the daemon ended.
    Begun,
    /// It has ended well.
    Done,
    /// It has not, in these words.
    Failed(String),
    /// The daemon ended while it ran.
    CutShort,
}

/// What a start does about the promotion of an earlier life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing: it is over, however it ended, or was said before.
    Nothing,
    /// It is run.
    Run,
    /// It is said that it was cut short.
    Say,
}

impl Promotion {
    /// One that has its record and has yet to begin.
    #[must_use]
    pub const fn owed(number: Number, member: Node) -> Self {
        Self { number, member, stage: Stage::Owed }
    }

    /// The same, further on.
    #[must_use]
    pub fn at(&self, stage: Stage) -> Self {
        Self { stage, ..self.clone() }
    }

    /// What a start finds.
    #[must_use]
    pub const fn left(&self) -> Left {
        match self.stage {
            Stage::Owed => Left::Run,
            Stage::Begun => Left::Say,
            Stage::Done | Stage::Failed(_) | Stage::CutShort => Left::Nothing,
        }
    }
}

impl Stage {
    /// One word of it, for programs.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Owed => "owed",
            Self::Begun => "running",
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::CutShort => "cut_short",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_begun_is_never_begun_again() {
        let owed = Promotion::owed(Number { term: 7, n: 3 }, Node(1));
        assert_eq!(owed.left(), Left::Run);
        let begun = owed.at(Stage::Begun);
        assert_eq!((begun.left(), begun.number, begun.member), (Left::Say, owed.number, Node(1)));
        for over in [Stage::Done, Stage::Failed("exit status 1".to_owned()), Stage::CutShort] {
            assert_eq!(begun.at(over).left(), Left::Nothing);
        }
    }
}
