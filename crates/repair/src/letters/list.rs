use super::scan::{Scan, Seen};
use super::selection::Selection;
use crate::error::RepairError;
use crate::source::Source;
use readmark_runtime::ports::Ports;

/// Dead letters that match a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// They, in the order in which they failed.
    pub letters: Vec<Seen>,
    /// Are there more than were asked for?
    pub more: bool,
}

/// The dead letters that match, in any state unless the selection names some; at most `limit`.
///
/// # Errors
/// When log or store fail for good, or are away for 30 s.
pub async fn list(ports: &Ports, selection: &Selection, limit: usize) -> Result<Listed, RepairError> {
    let source = Source::new(ports);
    let mut scan = Scan::begin(&source, selection).await?;
    let mut letters = Vec::new();
    let mut more = false;
    while let Some(page) = scan.next_page().await? {
        let wanted = |seen: &Seen| selection.states.is_empty() || selection.states.contains(&seen.state());
        letters.extend(page.into_iter().filter(wanted));
        if letters.len() > limit {
            letters.truncate(limit);
            more = true;
            break;
        }
    }
    letters.sort_by_key(|seen| (seen.letter.failed_at(), seen.letter.id()));
    Ok(Listed { letters, more })
}
