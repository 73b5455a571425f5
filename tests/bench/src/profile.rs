use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Samples a second: few enough to cost nothing that shows in the figures.
const SAMPLES_PER_S: &str = "99";

/// Where a process spends its processor time, by the system's `perf`.
pub struct Profile {
    perf: Child,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

impl Profile {
    /// Begins; `None` where there is no `perf`.
    #[must_use]
    pub fn begin(pid: u32) -> Option<Self> {
        let dir = tempfile::tempdir().ok()?;
        let file = dir.path().join("perf.data");
        let mut perf = Command::new("perf");
        perf.args(["record", "-F", SAMPLES_PER_S, "-p", &pid.to_string(), "-o"]).arg(&file);
        let perf = perf.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        Some(Self { perf, file, _dir: dir })
    }

    /// Ends; the functions it was in most often, with their share of all samples.
    #[must_use]
    pub fn end(mut self, count: usize) -> Vec<String> {
        let interrupted = Command::new("kill").args(["-INT", &self.perf.id().to_string()]).status();
        if interrupted.is_err() || self.perf.wait().is_err() {
            return Vec::new();
        }
        let mut report = Command::new("perf");
        report.args(["report", "--stdio", "--no-children", "--sort", "dso,symbol", "-i"]).arg(&self.file);
        let Ok(report) = report.stderr(Stdio::null()).output() else { return Vec::new() };
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        // Columns without a value hold a dash.
        let words =
            |line: &str| line.split_whitespace().filter(|word| *word != "-").collect::<Vec<_>>().join(" ");
        lines.take(count).map(words).collect()
    }
}
