//! The operator's commands, run beside a server with its configuration.

use crate::process::Program;
use crate::server::Server;
use serde_json::Value;
use std::process::{Command, Output};

/// How a command ended.
#[derive(Debug)]
pub struct Operated {
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// What it printed to stdout.
    pub stdout: String,
    /// What it printed to stderr.
    pub stderr: String,
}

impl Operated {
    /// From what it printed.
    #[must_use]
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Itself, after a look at its exit code.
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Stdout as one JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl Server {
    /// A command with this server's configuration: on embedded parts it names the data directory, on full parts the
    /// topics and the keyspace.
    #[must_use]
    pub fn operator(&self, arguments: &[&str]) -> Command {
        let arguments = arguments.iter().map(Into::into).collect();
        Program { launcher: Vec::new(), arguments, env: self.configuration() }.command()
    }

    /// Runs a command to its end.
    pub async fn operate(&self, arguments: &[&str]) -> Operated {
        let mut command = self.operator(arguments);
        let done = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
        Operated::of(&done.expect("readmark can be started"))
    }
}
