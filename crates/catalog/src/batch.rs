//! A batch of records, split by conversation and into runs of facts that are written together.

use crate::fact::{MemberFact, MessageFact};
use crate::members::apply_members;
use crate::messages::apply_messages;
use crate::settings::{apply_closed, apply_policy};
use crate::step::{Outcome, StepError};
use crate::tools::Tools;
use readmark_domain::fact::{
    ConversationClosed, ConversationFact, ConversationPolicy, FactError, MAX_SKIP_SEQS, order_of,
};
use readmark_domain::id::ConversationId;
use readmark_domain::time::OrderSource;
use readmark_events::decode;
use readmark_log::Record;
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use std::collections::BTreeMap;

/// Skipped seqs that one run may begin with: each is a flag in memory until it is written, and a skip may be one
/// short record of 65,536.
const SKIPPED_SEQS_PER_RUN: u64 = MAX_SKIP_SEQS;

/// Facts of one conversation that are written together: all merges, so that their order makes no difference.
#[derive(Debug, Clone)]
enum Run {
    Messages(Vec<(Record, MessageFact)>),
    Members(Vec<(Record, MemberFact)>),
    Closed(Record, ConversationClosed),
    Policy(Record, ConversationPolicy),
}

/// One conversation's share of a batch.
///
/// Facts of a kind are one run, wherever they stood in the batch: a channel where people come and go between messages
/// would else be written step by step, each step some round trips to the store. Members come first, for the size of
/// the group decides how a message's readers are stored.
#[derive(Debug)]
pub(crate) struct ConversationBatch {
    conversation_id: ConversationId,
    members: Vec<(Record, MemberFact)>,
    others: Vec<Run>,
}

/// Decodes records and splits them by conversation; what can't be decoded is a dead letter.
pub(crate) fn split(records: Vec<Record>, order: OrderSource) -> (Vec<ConversationBatch>, Vec<DeadLetter>) {
    let mut batches: BTreeMap<ConversationId, ConversationBatch> = BTreeMap::new();
    let mut letters = Vec::new();
    for record in records {
        let decoded =
            decode::<ConversationFact>(record.key.as_deref(), &record.payload).map_err(Reason::from);
        let accepted = decoded.and_then(|fact| {
            let conversation_id = fact.conversation_id().clone();
            let run = Run::of(record.clone(), fact, order).map_err(|e| Reason::new("bad-fact", e))?;
            Ok((conversation_id, run))
        });
        match accepted {
            Ok((conversation_id, run)) => batches
                .entry(conversation_id.clone())
                .or_insert_with(|| ConversationBatch::new(conversation_id))
                .add(run),
            Err(reason) => letters.push(DeadLetter { record, reason }),
        }
    }
    (batches.into_values().collect(), letters)
}

impl Run {
    fn of(record: Record, fact: ConversationFact, source: OrderSource) -> Result<Self, FactError> {
        let message = |fact| Self::Messages(vec![(record.clone(), fact)]);
        Ok(match fact {
            ConversationFact::MessageSent(fact) => message(MessageFact::Sent(fact)),
            ConversationFact::MessageRecalled(fact) => message(MessageFact::Recalled(fact)),
            ConversationFact::SeqSkipped(fact) => message(MessageFact::Skipped(fact)),
            ConversationFact::HeadImported(fact) => message(MessageFact::HeadImported(fact)),
            ConversationFact::MemberJoined(fact) => {
                let order = order_of(source, fact.occurred_at, fact.version)?;
                let fact = MemberFact { uid: fact.uid, order, joined: Some(fact.at_seq) };
                Self::Members(vec![(record, fact)])
            }
            ConversationFact::MemberLeft(fact) => {
                let order = order_of(source, fact.occurred_at, fact.version)?;
                Self::Members(vec![(record, MemberFact { uid: fact.uid, order, joined: None })])
            }
            ConversationFact::ConversationClosed(fact) => {
                order_of(source, fact.occurred_at, fact.version)?;
                Self::Closed(record, fact)
            }
            ConversationFact::ConversationPolicy(fact) => {
                fact.switch(source)?;
                Self::Policy(record, fact)
            }
        })
    }

    fn records(&self) -> Vec<&Record> {
        match self {
            Self::Messages(facts) => facts.iter().map(|(record, _)| record).collect(),
            Self::Members(facts) => facts.iter().map(|(record, _)| record).collect(),
            Self::Closed(record, _) | Self::Policy(record, _) => vec![record],
        }
    }

    const fn as_messages(&mut self) -> Option<&mut Vec<(Record, MessageFact)>> {
        match self {
            Self::Messages(facts) => Some(facts),
            Self::Members(_) | Self::Closed(..) | Self::Policy(..) => None,
        }
    }

    /// One run for each record.
    fn into_singles(self) -> Vec<Self> {
        match self {
            Self::Messages(facts) => facts.into_iter().map(|fact| Self::Messages(vec![fact])).collect(),
            Self::Members(facts) => facts.into_iter().map(|fact| Self::Members(vec![fact])).collect(),
            single @ (Self::Closed(..) | Self::Policy(..)) => vec![single],
        }
    }

    async fn apply(&self, tools: &Tools, outcome: &mut Outcome) -> Result<(), StepError> {
        match self {
            Self::Messages(facts) => apply_messages(tools, facts, outcome).await,
            Self::Members(facts) => {
                let facts: Vec<MemberFact> = facts.iter().map(|(_, fact)| *fact).collect();
                apply_members(tools, &facts, outcome).await
            }
            Self::Closed(_, fact) => apply_closed(tools, fact, outcome).await,
            Self::Policy(_, fact) => apply_policy(tools, fact, outcome).await,
        }
    }
}

impl ConversationBatch {
    const fn new(conversation_id: ConversationId) -> Self {
        Self { conversation_id, members: Vec::new(), others: Vec::new() }
    }

    fn add(&mut self, run: Run) {
        let last_messages = self.others.iter_mut().rev().find_map(Run::as_messages);
        match (last_messages, run) {
            (_, Run::Members(more)) => self.members.extend(more),
            (Some(facts), Run::Messages(more)) if skipped_seqs(facts) < SKIPPED_SEQS_PER_RUN => {
                facts.extend(more);
            }
            (_, run) => self.others.push(run),
        }
    }

    fn into_runs(self) -> Vec<Run> {
        let members = (!self.members.is_empty()).then_some(Run::Members(self.members));
        members.into_iter().chain(self.others).collect()
    }

    /// Writes everything, and gathers what is to be told.
    pub async fn apply(self, tools: &Tools) -> Result<Outcome, StepError> {
        let mut outcome = Outcome::new(self.conversation_id.clone());
        for run in self.into_runs() {
            outcome.positions.extend(run.records().iter().map(|record| record.position));
            match run.apply(tools, &mut outcome).await {
                Err(error) if error.is_refusal() => apply_singly(tools, run, &mut outcome).await?,
                done => done?,
            }
        }
        Ok(outcome)
    }
}

fn skipped_seqs(facts: &[(Record, MessageFact)]) -> u64 {
    let skipped = facts.iter().map(|(_, fact)| match fact {
        MessageFact::Skipped(skipped) => skipped.range().map_or(0, |range| range.count()),
        MessageFact::Sent(_) | MessageFact::Recalled(_) | MessageFact::HeadImported(_) => 0,
    });
    skipped.sum()
}

/// The store refused something of this run: find out what, one record at a time.
async fn apply_singly(tools: &Tools, run: Run, outcome: &mut Outcome) -> Result<(), StepError> {
    for single in run.into_singles() {
        match single.apply(tools, outcome).await {
            Err(error) if error.is_refusal() => {
                outcome.dead_letters.extend(single.records().into_iter().map(|record| DeadLetter {
                    record: record.clone(),
                    reason: Reason::new("refused", &error),
                }));
            }
            done => done?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_domain::fact::{MemberLeft, SeqSkipped};
    use readmark_domain::id::{Seq, Uid};
    use readmark_domain::time::TimeMs;
    use readmark_events::Topic;
    use readmark_log::{NewRecord, Position, TopicPartition};

    fn record(offset: u64, fact: &ConversationFact) -> Record {
        let NewRecord { key, payload, headers, .. } = NewRecord::of(fact).unwrap();
        let partition = TopicPartition { topic: Topic::ConversationEvents, partition: 0 };
        let position = Position { partition, offset };
        Record { position, appended_at: TimeMs::new(1).unwrap(), key: Some(key), payload, headers }
    }

    fn skipped(from: u64, to: u64) -> ConversationFact {
        ConversationFact::SeqSkipped(SeqSkipped {
            conversation_id: ConversationId::new("c").unwrap(),
            from: Seq::new(from).unwrap(),
            to: Seq::new(to).unwrap(),
            occurred_at: TimeMs::new(1).unwrap(),
        })
    }

    fn left(uid: u64) -> ConversationFact {
        ConversationFact::MemberLeft(MemberLeft {
            conversation_id: ConversationId::new("c").unwrap(),
            uid: Uid::new(uid).unwrap(),
            at_seq: Seq::new_or_zero(0).unwrap(),
            occurred_at: TimeMs::new(1).ok(),
            version: None,
        })
    }

    fn closed() -> ConversationFact {
        ConversationFact::ConversationClosed(ConversationClosed {
            conversation_id: ConversationId::new("c").unwrap(),
            closed: true,
            occurred_at: TimeMs::new(1).ok(),
            version: None,
        })
    }

    fn runs_of(facts: &[ConversationFact]) -> Vec<Run> {
        let records = facts.iter().zip(0..).map(|(fact, offset)| record(offset, fact)).collect();
        let (batches, letters) = split(records, OrderSource::OccurredAt);
        assert!(letters.is_empty());
        batches.into_iter().flat_map(ConversationBatch::into_runs).collect()
    }

    fn runs(skips: impl Iterator<Item = (u64, u64)>) -> Vec<usize> {
        let facts: Vec<_> = skips.map(|(from, to)| skipped(from, to)).collect();
        runs_of(&facts).iter().map(|run| run.records().len()).collect()
    }

    #[test]
    fn facts_of_a_kind_are_one_run_with_the_members_first() {
        let runs = runs_of(&[skipped(1, 1), left(7), closed(), skipped(2, 2), left(8), skipped(3, 3)]);
        let offsets =
            |run: &Run| run.records().iter().map(|record| record.position.offset).collect::<Vec<_>>();
        assert_eq!(runs.iter().map(offsets).collect::<Vec<_>>(), [vec![1, 4], vec![0, 3, 5], vec![2]]);
    }

    #[test]
    fn wide_skips_are_written_a_few_at_a_time() {
        let wide = |n| (n * MAX_SKIP_SEQS + 1, (n + 1) * MAX_SKIP_SEQS);
        assert_eq!(runs((0..4).map(wide)), [1, 1, 1, 1]);
        let half = |n| (n * MAX_SKIP_SEQS / 2 + 1, (n + 1) * MAX_SKIP_SEQS / 2);
        assert_eq!(runs((0..4).map(half)), [2, 2]);
        assert_eq!(runs((1..=500).map(|n| (n, n))), [500], "short ones are one run");
    }
}
