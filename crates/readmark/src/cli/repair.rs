//! Arguments of the commands that repair by delivering facts again.

use super::Output;
use super::when::When;
use clap::{ArgGroup, Args, Subcommand};
use readmark_domain::dead_letter::{LetterId, LetterState};
use readmark_domain::id::{ConversationId, Uid};
use readmark_events::Topic;
use readmark_repair::Rate;
use readmark_runtime::dead_letter::REASONS;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("stretch").required(true).args(["from_time", "from_offset"]))]
pub(crate) struct Replay {
    /// Its short name: conversation-events, acks, marks, conversation-changed or read-changed
    #[arg(long)]
    pub topic: Topic,
    /// From the first record appended then or later: 1780000000000, 2026-05-29T12:00:00Z or -2h
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from_time: Option<When>,
    /// To the last record appended before then (default: what is there at the start)
    #[arg(long, value_name = "T", allow_hyphen_values = true, requires = "from_time")]
    pub to_time: Option<When>,
    /// From these offsets on, each with its partition before it; partitions left out stay out
    #[arg(long, value_name = "P:O,…", value_delimiter = ',', value_parser = parse_offset)]
    pub from_offset: Vec<(u32, u64)>,
    /// Only facts that name this user as the sender of a message
    #[arg(long, value_name = "U")]
    pub sender: Option<Uid>,
    /// Only facts about this conversation
    #[arg(long, value_name = "C")]
    pub conversation: Option<ConversationId>,
    /// At most so many records a second
    #[arg(long, value_name = "N", default_value_t = Rate::default().get(), value_parser = clap::value_parser!(u64).range(1..=Rate::MAX))]
    pub rate: u64,
    #[command(flatten)]
    pub consent: Consent,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetters {
    /// List them, oldest first
    List(List),
    /// Show them whole
    Show(List),
    /// Deliver them again to where they come from: those that are open or buried
    Redrive(Act),
    /// Leave them alone from now on: those that are open or buried
    Drop(Act),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub filters: Filters,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub limit: u64,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Act {
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub consent: Consent,
    #[command(flatten)]
    pub output: Output,
}

/// Which dead letters: those that match everything given, all without anything.
#[derive(Debug, Args)]
pub(crate) struct Filters {
    /// These alone, each by its partition and offset
    #[arg(value_name = "P:O")]
    pub letters: Vec<LetterId>,
    /// With this reason
    #[arg(long, value_name = "R,…", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(REASONS), hide_possible_values = true)]
    pub reason: Vec<String>,
    /// That come from this topic
    #[arg(long, value_name = "TOPIC", alias = "topic")]
    pub source_topic: Option<Topic>,
    /// That failed then or later: 1780000000000, 2026-05-29T12:00:00Z or -2h
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<When>,
    /// In this state: open, redelivered, dropped or buried
    #[arg(long, value_name = "S,…", value_delimiter = ',', value_parser = parse_state)]
    pub state: Vec<LetterState>,
}

/// Of a command that changes something.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Consent {
    /// Only count what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Do it without asking; needed where there is no terminal
    #[arg(long)]
    pub yes: bool,
}

fn parse_offset(text: &str) -> Result<(u32, u64), String> {
    let wrong = || format!("{text:?} is no partition with an offset, as in 0:41");
    let id: LetterId = text.parse().map_err(|_| wrong())?;
    Ok((id.partition, id.offset))
}

fn parse_state(text: &str) -> Result<LetterState, String> {
    let found = LetterState::ALL.into_iter().find(|state| state.as_str() == text);
    found.ok_or_else(|| format!("{text:?} is no state: open, redelivered, dropped or buried"))
}
