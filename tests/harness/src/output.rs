//! What a started program prints: kept, and shown when the test fails.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};

/// Lines kept of a program; a failing test shows the newest.
const MAX_LINES: usize = 4_000;
/// Lines shown when a test fails.
const SHOWN_LINES: usize = 80;

/// The lines of all starts of one server.
#[derive(Clone, Default)]
pub struct Output {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Output {
    /// Collects from `pipe` until it ends, on a thread of its own.
    pub fn collect(&self, name: String, pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<()> {
        let output = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                output.push(format!("{name}| {line}"));
            }
        })
    }

    /// Adds a line of the test's own.
    pub fn push(&self, line: String) {
        let mut lines = self.lines.lock().unwrap();
        if lines.len() == MAX_LINES {
            lines.drain(..MAX_LINES / 2);
        }
        lines.push(line);
    }

    /// Everything kept, as text.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// The newest lines, as text.
    #[must_use]
    pub fn tail(&self) -> String {
        let lines = self.lines.lock().unwrap();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}
