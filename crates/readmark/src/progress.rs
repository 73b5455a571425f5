//! How far long work is, on stderr: one line that changes on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two changes of the line on a terminal.
const CHANGE_EVERY: Duration = Duration::from_millis(100);
/// Between two lines elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What is shown of one piece of work.
pub(crate) struct Progress {
    is_terminal: bool,
    shown_at: Option<Instant>,
    began_at: Instant,
    /// Characters of the line that is shown, to be written over.
    width: usize,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            shown_at: None,
            began_at: Instant::now(),
            width: 0,
        }
    }

    /// Shows it, if it is time.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let every = if self.is_terminal { CHANGE_EVERY } else { LINE_EVERY };
        // Short work says nothing before its end.
        if self.shown_at.unwrap_or(self.began_at).elapsed() < every {
            return;
        }
        self.shown_at = Some(Instant::now());
        let text = text();
        if self.is_terminal {
            let width = text.chars().count();
            eprint!("\r{text}{}", " ".repeat(self.width.saturating_sub(width)));
            // A terminal that is gone shows nothing.
            let _ = std::io::stderr().flush();
            self.width = width;
        } else {
            eprintln!("{text}");
        }
    }

    /// Takes the line away.
    pub fn end(self) {
        if self.is_terminal && self.width > 0 {
            eprint!("\r{}\r", " ".repeat(self.width));
        }
    }
}
