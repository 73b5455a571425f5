use serde::Serialize;

/// What was found about the topics of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopicReport {
    /// Full names of the topics that were looked at.
    pub topics: Vec<String>,
    /// What differs from the plan; nothing where all is as it should be.
    pub findings: Vec<TopicFinding>,
}

impl TopicReport {
    /// What is still to be done, by a setup or by an operator.
    pub fn left(&self) -> impl Iterator<Item = &TopicFinding> {
        self.findings.iter().filter(|finding| finding.remedy != Remedy::Done)
    }
}

/// One difference between a topic and its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopicFinding {
    /// The topic's full name.
    pub topic: String,
    /// What differs: `topic` (it is not there), `partitions`, `replication`, or the name of a setting of Kafka.
    pub matter: String,
    /// As planned.
    pub wanted: String,
    /// As found; nothing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Does readmark refuse to work with the topic as it is?
    pub stops_serving: bool,
    /// Who puts it right.
    pub remedy: Remedy,
    /// Why it matters, and what to do where it is left to an operator.
    pub advice: String,
    /// What an operator may run, as it is, with Kafka's own tools; nothing where there is no such thing.
    pub commands: Vec<String>,
}

/// Who puts a difference right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A setup, without loss.
    Setup,
    /// An operator: it costs something, or the brokers do not let a setup do it.
    Operator,
    /// This setup has done it.
    Done,
}

impl Remedy {
    /// As in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Operator => "operator",
            Self::Done => "done",
        }
    }
}
