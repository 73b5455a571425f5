//! The command line.

mod repair;
mod when;

pub(crate) use repair::{Act, Consent, DeadLetters, Filters, List, Replay};

use crate::config::parse_listen;
use crate::role_name::RoleSet;
use clap::{Args, Parser, Subcommand, ValueEnum};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_http::auth::Scope;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Read receipts, read watermarks and unread counts for instant-messaging backends.
#[derive(Debug, Parser)]
#[command(name = "readmark", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process, on embedded parts
    Up(Up),
    /// Run roles in this process, on the configured parts
    Serve(Serve),
    /// Make topics and tables, or check them; safe to repeat
    Setup(Setup),
    /// Print a bearer token
    Token(Token),
    /// Deliver a stretch of a topic again; what was counted stays counted once
    Replay(Replay),
    /// Records that could not be handled: list, show, deliver again or drop them
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Show what is known of a message, a conversation or a user, or how far roles are behind
    #[command(subcommand)]
    Inspect(Inspect),
    /// Show, check or describe the configuration
    #[command(subcommand)]
    Config(Config),
    /// Check every outside part, and say what to do
    Doctor(Output),
}

/// Where the configuration comes from, besides `READMARK_…` variables.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Source {
    /// A TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory (default ./readmark-data)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Where a process serves.
#[derive(Debug, Clone, Args)]
pub(crate) struct Addresses {
    /// Where to serve, an IP address and a port (default 127.0.0.1:8080)
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Where to serve /healthz, /readyz, /metrics and /openapi.json instead
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    admin_listen: Option<SocketAddr>,
}

impl Addresses {
    /// As keys and values of the configuration.
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let given = [("listen", self.listen), ("admin_listen", self.admin_listen)];
        given.into_iter().filter_map(|(key, address)| Some((key, address?.to_string()))).collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub addresses: Addresses,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// What this process does: all, or some of catalog, gateway, aggregator, watermark, notifier, query, janitor
    #[arg(long, value_name = "R,R,…")]
    pub roles: RoleSet,
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub addresses: Addresses,
}

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(flatten)]
    pub source: Source,
    /// Whose token
    #[arg(long)]
    pub uid: Uid,
    /// What it may be used for: user, service or admin
    #[arg(long, default_value = "user")]
    pub scope: Scope,
    /// The device, for users
    #[arg(long, default_value = "cli")]
    pub endpoint: Endpoint,
    /// How long it lasts, as in 30s, 15m, 24h, 90d
    #[arg(long, default_value = "24h", value_parser = parse_ttl)]
    pub ttl: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Inspect {
    /// A message: its row, its tally, who has read it
    Message {
        /// The conversation
        conversation: ConversationId,
        /// The message's seq
        seq: Seq,
        #[command(flatten)]
        output: Output,
    },
    /// A conversation: its head, policy and members
    Conversation {
        /// The conversation
        conversation: ConversationId,
        #[command(flatten)]
        output: Output,
    },
    /// A user: its registers and unread messages, by conversation
    User {
        /// The user
        uid: Uid,
        #[command(flatten)]
        output: Output,
    },
    /// How far each role is behind in the log, by topic and partition
    Lag {
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    #[command(flatten)]
    pub source: Source,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One JSON document
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print the configuration in force, as TOML
    Show(Source),
    /// Check it; every mistake is named
    Check(Source),
    /// Print its JSON Schema
    Schema,
}

/// Longest life of a token: ten years, so that a slip of the finger is noticed.
const TTL_AT_MOST_S: u64 = 3_650 * 86_400;

fn parse_ttl(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time such as 30s, 15m, 24h or 90d, of at most 3650d");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds_per_unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<u64>().ok().and_then(|n| n.checked_mul(seconds_per_unit));
    seconds.filter(|s| (1..=TTL_AT_MOST_S).contains(s)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_to_live() {
        assert_eq!(parse_ttl("24h"), Ok(86_400));
        assert_eq!(parse_ttl("90d"), Ok(7_776_000));
        for wrong in ["", "h", "0s", "1w", "-1h", "9999d", "1ö", "99999999999999999999h"] {
            assert!(parse_ttl(wrong).is_err(), "{wrong}");
        }
    }
}
