//! A mount namespace of its own, in which a test may mount what it likes and nobody else sees it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A namespace, held open by a process until this is dropped.
pub struct Namespace {
    holder: Child,
}

impl Namespace {
    /// Makes one and runs a shell script in it; `None` when the machine does not permit it.
    #[must_use]
    pub fn new(script: &str) -> Option<Self> {
        let mut holder = Command::new("unshare")
            .args(["--mount", "sh", "-ec", &format!("{script}\necho ready\nexec cat")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(holder.stdout.take()?).read_line(&mut line).ok()?;
        if line != "ready\n" {
            let _ = holder.wait();
            return None;
        }
        Some(Self { holder })
    }

    /// Words that run a command in it.
    #[must_use]
    pub fn launcher(&self) -> Vec<String> {
        ["nsenter", "--mount", "--target", &self.holder.id().to_string(), "--"].map(str::to_owned).to_vec()
    }

    /// Runs a shell script in it; fails when the script does.
    pub fn run(&self, script: &str) {
        let words = self.launcher();
        let done =
            Command::new(&words[0]).args(&words[1..]).args(["sh", "-ec", script]).output().expect("nsenter");
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A path in it, as it is seen from outside.
    #[must_use]
    pub fn outside(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(path.strip_prefix("/").expect("an absolute path"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
