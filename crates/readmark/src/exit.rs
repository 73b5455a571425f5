//! Exit codes and failures.

use readmark_repair::RepairError;
use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// Done in part; what is left was said.
    InPart = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed, in words for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    words: String,
}

impl Failure {
    /// Something did not work.
    pub fn failed(words: impl fmt::Display) -> Self {
        Self { exit: Exit::Failed, words: words.to_string() }
    }

    /// The command or its configuration is wrong.
    pub fn usage(words: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, words: words.to_string() }
    }

    /// A repair could not begin.
    pub fn repair(error: RepairError) -> Self {
        match error {
            RepairError::Usage(words) => Self::usage(words),
            RepairError::Log(_) | RepairError::Store(_) => Self::failed(error),
        }
    }

    pub fn code(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
