//! `readmark inspect`: what the store says, and how far the roles are in the log.

pub(crate) mod conversation;
pub(crate) mod lag;
pub(crate) mod message;
pub(crate) mod user;

use super::runtime;
use crate::admin;
use crate::cli::{Format, Inspect, Output, Source};
use crate::config::{Config, load};
use crate::exit::{Exit, Failure};
use crate::parts::Parts;
use crate::print;
use crate::reach::{Reached, reach, reach_log_alone};
use readmark_domain::id::{ConversationId, Seq, Uid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// Runs it.
pub(crate) fn run(inspect: Inspect) -> Result<Exit, Failure> {
    match inspect {
        Inspect::Message { conversation, seq, output } => {
            let question = Question::Message { conversation, seq };
            show::<message::MessageView>(&question, &output)
        }
        Inspect::Conversation { conversation, output } => {
            show::<conversation::ConversationView>(&Question::Conversation { conversation }, &output)
        }
        Inspect::User { uid, output } => show::<user::UserView>(&Question::User { uid }, &output),
        Inspect::Lag { output } => show::<lag::LagView>(&Question::Lag, &output),
    }
}

/// What is asked.
enum Question {
    Message { conversation: ConversationId, seq: Seq },
    Conversation { conversation: ConversationId },
    User { uid: Uid },
    Lag,
}

impl Question {
    /// As a call of the socket.
    fn path(&self) -> String {
        match self {
            Self::Message { conversation, seq } => {
                format!("/inspect/message?conversation={}&seq={seq}", percent_encoded(conversation.as_str()))
            }
            Self::Conversation { conversation } => {
                format!("/inspect/conversation?conversation={}", percent_encoded(conversation.as_str()))
            }
            Self::User { uid } => format!("/inspect/user?uid={uid}"),
            Self::Lag => "/inspect/lag".to_owned(),
        }
    }

    /// As JSON, from parts opened here.
    async fn answer(&self, config: &Config, parts: Parts) -> Result<Vec<u8>, Failure> {
        let (ports, rules) = (parts.ports(), config.rules());
        let json = match self {
            Self::Message { conversation, seq } => {
                to_json(&message::view(&ports, &rules, conversation, *seq).await.map_err(Failure::failed)?)
            }
            Self::Conversation { conversation } => {
                to_json(&conversation::view(&ports, &rules, conversation).await.map_err(Failure::failed)?)
            }
            Self::User { uid } => to_json(&user::view(&ports, *uid).await.map_err(Failure::failed)?),
            Self::Lag => to_json(&lag::view(&*ports.log, &rules).await.map_err(Failure::failed)?),
        };
        parts.close().await?;
        json
    }
}

fn to_json<V: Serialize>(view: &V) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(view).map_err(Failure::failed)
}

/// A view that people can read.
pub(crate) trait Table {
    /// Lines for a terminal.
    fn table(&self) -> String;
}

fn show<V: Serialize + DeserializeOwned + Table>(
    question: &Question,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = load(&output.source, &[])?;
    let answer = runtime()?.block_on(ask(question, &output.source, &config))?;
    let view: V = serde_json::from_slice(&answer).map_err(Failure::failed)?;
    match output.format {
        Format::Table => print::text(&view.table())?,
        Format::Json => print::json(&view)?,
    }
    Ok(Exit::Done)
}

async fn ask(question: &Question, source: &Source, config: &Config) -> Result<Vec<u8>, Failure> {
    if matches!(question, Question::Lag)
        && let Some(log) = reach_log_alone(source, config).await?
    {
        return to_json(&lag::view(&log, &config.rules()).await.map_err(Failure::failed)?);
    }
    match reach(source, config).await? {
        Reached::Running(socket) => admin::get(&socket, &question.path()).await,
        Reached::Parts(parts) => question.answer(config, *parts).await,
    }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// `name  value` lines, aligned.
pub(crate) fn lines(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}
