//! Processes that a test starts by itself.

use crate::{DEADLINE, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus};

/// A command with nothing of the tests' own environment: what is set for them is no configuration of the program.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("READMARK_")) {
        command.env_remove(name);
    }
    command
}

/// Sends a signal to a process that the tests have started.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid is positive");
    kill_process(pid, signal).expect("own processes can be signalled");
}

/// A process that is killed at the end, however the test ends.
pub struct OwnProcess(pub Child);

impl Drop for OwnProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OwnProcess {
    /// Starts it.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?} can't be started: {error}")))
    }

    /// Asks it to end with a signal, and waits until it has.
    pub async fn ends_when_asked(&mut self, by: Signal) -> ExitStatus {
        signal(self.0.id(), by);
        wait_until(DEADLINE, "the process to end", || {
            let ended = self.0.try_wait().expect("the child can be asked");
            async move { ended.ok_or("still running".to_owned()) }
        })
        .await
    }
}
