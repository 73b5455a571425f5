use crate::command::inspect::lines;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use readmark_domain::dead_letter::{Actor, LetterId, LetterState, Step, next_step};
use readmark_domain::time::TimeMs;
use readmark_events::original_headers;
use readmark_http::Decimal;
use readmark_repair::letters::{Listed, Seen};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Dead letters, as they are printed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LettersView {
    pub dead_letters: Vec<LetterView>,
    /// Are there more than were asked for?
    pub more: bool,
}

/// One of them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LetterView {
    pub letter: LetterId,
    pub state: LetterState,
    /// When the janitor delivers it again.
    pub next_attempt_at_ms: Option<TimeMs>,
    /// When something was done about it last.
    pub resolved_at_ms: Option<TimeMs>,
    pub resolved_by: Option<Actor>,
    pub failed_at_ms: TimeMs,
    /// What it says about itself; nothing when that can't be read.
    pub failure: Option<FailureView>,
    pub key: Option<String>,
    /// What `show` adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentView>,
}

/// What a letter says about itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FailureView {
    pub reason: String,
    pub detail: String,
    pub role: String,
    pub attempts: Decimal,
    pub first_failed_at_ms: Decimal,
    pub source_topic: String,
    pub source_partition: u32,
    pub source_offset: Decimal,
}

/// The record itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ContentView {
    pub headers: BTreeMap<String, String>,
    /// The payload, when it is text.
    pub payload: Option<String>,
    /// The payload, when it is none.
    pub payload_base64: Option<String>,
}

impl LettersView {
    pub fn of(listed: Listed, whole: bool) -> Self {
        let letters = listed.letters.iter().map(|seen| LetterView::of(seen, whole));
        Self { dead_letters: letters.collect(), more: listed.more }
    }

    /// A line each.
    pub fn list_table(&self) -> String {
        let mut rows =
            vec![["letter", "state", "attempts", "failed at", "reason", "role", "source"].map(str::to_owned)];
        rows.extend(self.dead_letters.iter().map(LetterView::row));
        columns(&rows)
    }

    /// Each whole, an empty line between.
    pub fn show_table(&self) -> String {
        let letters: Vec<String> = self.dead_letters.iter().map(LetterView::whole).collect();
        letters.join("\n")
    }
}

impl LetterView {
    fn of(seen: &Seen, whole: bool) -> Self {
        let (record, state) = (&seen.letter.record, seen.state());
        let next_attempt_at_ms = match (state, next_step(seen.letter.failure())) {
            (LetterState::Open, Step::RedeliverAt(at)) => Some(at),
            (LetterState::Open, Step::Bury)
            | (LetterState::Redelivered | LetterState::Dropped | LetterState::Buried, _) => None,
        };
        let failure = seen.letter.headers.as_ref().map(|headers| FailureView {
            reason: headers.reason.clone(),
            detail: headers.detail.clone(),
            role: headers.role.clone(),
            attempts: Decimal(u64::from(headers.attempts)),
            first_failed_at_ms: Decimal(headers.first_failed_at_ms),
            source_topic: headers.source.topic.to_string(),
            source_partition: headers.source.partition,
            source_offset: Decimal(headers.source.offset),
        });
        Self {
            letter: seen.letter.id(),
            state,
            next_attempt_at_ms,
            resolved_at_ms: seen.resolution.map(|resolution| resolution.at),
            resolved_by: seen.resolution.map(|resolution| resolution.by),
            failed_at_ms: seen.letter.failed_at(),
            failure,
            key: record.key.as_ref().map(|key| String::from_utf8_lossy(key).into_owned()),
            content: whole.then(|| {
                let text = std::str::from_utf8(&record.payload).ok();
                ContentView {
                    headers: original_headers(&record.headers).into_iter().collect(),
                    payload: text.map(str::to_owned),
                    payload_base64: text.is_none().then(|| STANDARD.encode(&record.payload)),
                }
            }),
        }
    }

    fn row(&self) -> [String; 7] {
        let of =
            |part: fn(&FailureView) -> String| self.failure.as_ref().map_or_else(|| "?".to_owned(), part);
        [
            self.letter.to_string(),
            self.state.as_str().to_owned(),
            of(|failure| failure.attempts.0.to_string()),
            self.failed_at_ms.to_string(),
            of(|failure| failure.reason.clone()),
            of(|failure| failure.role.clone()),
            of(FailureView::source),
        ]
        .map(|cell| printable(&cell))
    }

    fn whole(&self) -> String {
        let time = |at: Option<TimeMs>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let mut rows = vec![
            ("letter", self.letter.to_string()),
            ("state", self.state.as_str().to_owned()),
            ("next attempt at", time(self.next_attempt_at_ms)),
            ("resolved at", time(self.resolved_at_ms)),
            ("failed at", self.failed_at_ms.to_string()),
        ];
        if let Some(failure) = &self.failure {
            rows.extend([
                ("first failed at", failure.first_failed_at_ms.0.to_string()),
                ("attempts", failure.attempts.0.to_string()),
                ("reason", failure.reason.clone()),
                ("detail", failure.detail.clone()),
                ("role", failure.role.clone()),
                ("source", failure.source()),
            ]);
        }
        rows.push(("key", self.key.clone().unwrap_or_else(|| "-".to_owned())));
        if let Some(content) = &self.content {
            rows.extend(content.headers.iter().map(|(name, value)| ("header", format!("{name}: {value}"))));
            rows.extend(content.payload.clone().map(|payload| ("payload", payload)));
            rows.extend(content.payload_base64.clone().map(|payload| ("payload base64", payload)));
        }
        let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name, printable(&value))).collect();
        lines(&rows)
    }
}

impl FailureView {
    fn source(&self) -> String {
        format!("{}/{}:{}", self.source_topic, self.source_partition, self.source_offset.0)
    }
}

/// What somebody else wrote must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Aligned columns.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
