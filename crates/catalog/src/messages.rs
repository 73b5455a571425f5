//! Messages, recalls and skips.
//!
//! The order within a run is what makes late messages safe: buckets before messages (so that what is
//! missing can be told from what is gone), the sender's own mark before the head (so that nobody's own
//! message shows as unread), every message before the head is read, and the head raised last.

use crate::fact::MessageFact;
use crate::late::late_acks;
use crate::step::{Outcome, StepError};
use crate::tools::Tools;
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::fact::{MAX_SKIP_SEQS, MessageSent};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::chunks_for;
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::time::TimeMs;
use readmark_events::{ConversationChanged, HeadMessage, header_name};
use readmark_log::{NewRecord, Record};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_store::{Bucket, Raise, StoreError};
use std::collections::BTreeMap;

/// Flags written in one call.
const FLAGS_PER_WRITE: usize = 4_096;
/// Writes for different senders or messages at once.
const WRITES_AT_ONCE: usize = 16;
/// Messages told in one record, and mentions: together far below the limit of a record.
const MESSAGES_PER_RECORD: usize = 200;
const MENTIONS_PER_RECORD: usize = 2_000;
/// Ranges of uncounted seqs told in one record.
const RANGES_PER_RECORD: usize = 2_000;

/// What a run of message facts comes to.
#[derive(Debug, Default)]
struct Plan {
    sent: Vec<MessageSent>,
    flags: BTreeMap<Seq, MessageFlags>,
    /// Greatest seq named as a message or skip: the head is raised to it.
    head: Seq,
    imported_head: Seq,
    /// Seqs named as messages or skips.
    named: Vec<SeqRange>,
    /// When the newest of them happened.
    newest: TimeMs,
    /// When each message was accepted.
    accepted_at: BTreeMap<Seq, TimeMs>,
}

impl Plan {
    fn flag(&mut self, seq: Seq, flags: MessageFlags) {
        let entry = self.flags.entry(seq).or_default();
        *entry = entry.merge(flags);
    }

    fn add(&mut self, record: &Record, fact: &MessageFact) {
        match fact {
            MessageFact::Sent(sent) => {
                if let Some(accepted_at) = record.accepted_at() {
                    self.accepted_at.entry(sent.seq).or_insert(accepted_at);
                }
                self.head = self.head.max(sent.seq);
                self.named.extend(SeqRange::new(sent.seq, sent.seq));
                self.newest = self.newest.max(sent.occurred_at);
                if !sent.countable {
                    self.flag(sent.seq, MessageFlags { not_countable: true, ..MessageFlags::default() });
                }
                self.sent.push(sent.clone());
            }
            MessageFact::Recalled(recalled) => {
                self.flag(recalled.seq, MessageFlags { recalled: true, ..MessageFlags::default() });
            }
            MessageFact::Skipped(skipped) => {
                self.head = self.head.max(skipped.to);
                self.named.extend(skipped.range());
                self.newest = self.newest.max(skipped.occurred_at);
                for seq in skipped.range().map(|r| SeqRanges::from_ranges(vec![r])).unwrap_or_default().iter()
                {
                    self.flag(seq, MessageFlags { skipped: true, ..MessageFlags::default() });
                }
            }
            MessageFact::HeadImported(imported) => {
                self.imported_head = self.imported_head.max(imported.head_seq);
                self.head = self.head.max(imported.head_seq);
            }
        }
    }
}

/// Writes a run of message facts and gathers what is to be told.
pub(crate) async fn apply_messages(
    tools: &Tools,
    facts: &[(Record, MessageFact)],
    outcome: &mut Outcome,
) -> Result<(), StepError> {
    let id = outcome.conversation_id.clone();
    let mut plan = Plan::default();
    let mut taken = known_messages(tools, &id, facts).await?;
    for (record, fact) in facts {
        if let MessageFact::Sent(sent) = fact {
            let owner = *taken.entry(sent.seq).or_insert(sent.msg_id);
            if owner != sent.msg_id {
                tools.metrics.seq_conflicts_total.inc();
                let detail = format!("seq {} of {id} is message {owner}, not {}", sent.seq, sent.msg_id);
                tracing::error!(conversation_id = %id, seq = %sent.seq, "seq-conflict: {detail}");
                let reason = Reason::new("seq-conflict", detail);
                outcome.dead_letters.push(DeadLetter { record: record.clone(), reason });
                continue;
            }
        }
        plan.add(record, fact);
    }
    let written = write(tools, &id, &plan).await?;
    let head_before = raise_head(tools, &id, &plan).await?;
    let late = written.into_iter().filter(|message| message.seq <= head_before).collect();
    outcome.records.extend(late_acks(tools, &id, late).await?);
    tell(&id, &plan, head_before.max(plan.head), outcome)
}

/// Which message each seq belongs to already.
async fn known_messages(
    tools: &Tools,
    id: &ConversationId,
    facts: &[(Record, MessageFact)],
) -> Result<BTreeMap<Seq, readmark_domain::id::MsgId>, StoreError> {
    let seqs = SeqRanges::from_seqs(facts.iter().filter_map(|(_, fact)| match fact {
        MessageFact::Sent(sent) => Some(sent.seq),
        MessageFact::Recalled(_) | MessageFact::Skipped(_) | MessageFact::HeadImported(_) => None,
    }));
    let mut known = BTreeMap::new();
    for range in seqs.ranges() {
        let messages =
            tools.retrier.run(|| tools.ports.store.messages(id, range.first(), range.last())).await?;
        known.extend(messages.into_iter().map(|message| (message.seq, message.msg_id)));
    }
    Ok(known)
}

/// Writes everything but the head; gives back the messages that are not expired.
async fn write(tools: &Tools, id: &ConversationId, plan: &Plan) -> Result<Vec<Message>, StoreError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let flags: Vec<(Seq, MessageFlags)> = plan.flags.iter().map(|(seq, flags)| (*seq, *flags)).collect();
    for page in flags.chunks(FLAGS_PER_WRITE) {
        retrier.run(|| store.add_flags(id, page)).await?;
    }
    let mut buckets = newest_by_bucket(&plan.sent);
    buckets.extend(passed_buckets(tools, id, plan).await?);
    if !buckets.is_empty() {
        retrier.run(|| store.raise_buckets(id, &buckets)).await?;
    }
    if plan.sent.is_empty() {
        return Ok(Vec::new());
    }
    let now = tools.ports.clock.now();
    let retention = tools.rules.retention;
    let chunks = chunks_for(tools.sizes.present(id).await?);
    let messages: Vec<(Message, TimeMs)> = plan
        .sent
        .iter()
        .filter(|sent| !retention.is_expired(sent.occurred_at, now))
        .map(|sent| (to_message(sent, chunks), retention.expires_at(sent.occurred_at)))
        .collect();
    if !messages.is_empty() {
        retrier.run(|| store.write_messages(&messages)).await?;
    }
    write_mentions(tools, id, &plan.sent).await?;
    raise_own(tools, id, &plan.sent).await?;
    Ok(messages.into_iter().map(|(message, _)| message).collect())
}

fn to_message(sent: &MessageSent, chunks: u16) -> Message {
    Message {
        conversation_id: sent.conversation_id.clone(),
        seq: sent.seq,
        msg_id: sent.msg_id,
        sender_uid: sent.sender_uid,
        sent_at: sent.occurred_at,
        countable: sent.countable,
        chunks,
    }
}

/// Buckets of seqs that the head is about to pass, which may still come. After a pause longer than the
/// retention such a bucket holds nothing but expired messages, and they would be taken for expired too.
async fn passed_buckets(tools: &Tools, id: &ConversationId, plan: &Plan) -> Result<Vec<Bucket>, StoreError> {
    let row = tools.retrier.run(|| tools.ports.store.conversation(id)).await?;
    let mut head = row.unwrap_or_default().head;
    let mut buckets = Vec::new();
    for range in SeqRanges::from_ranges(plan.named.clone()).ranges() {
        if head > Seq::ZERO && range.first() > head.next() {
            buckets.push(Bucket { bucket: head.next().bucket(), newest_sent_at: plan.newest });
        }
        head = head.max(range.last());
    }
    Ok(buckets)
}

fn newest_by_bucket(sent: &[MessageSent]) -> Vec<Bucket> {
    let mut newest: BTreeMap<u64, TimeMs> = BTreeMap::new();
    for message in sent {
        let at = newest.entry(message.seq.bucket()).or_default();
        *at = (*at).max(message.occurred_at);
    }
    newest.into_iter().map(|(bucket, newest_sent_at)| Bucket { bucket, newest_sent_at }).collect()
}

async fn write_mentions(tools: &Tools, id: &ConversationId, sent: &[MessageSent]) -> Result<(), StoreError> {
    let mut writes: Vec<Call<'_, (), StoreError>> = Vec::new();
    for message in sent {
        if !message.mentions.is_empty() || message.mention_all {
            writes.push(Box::pin(write_mentions_of(tools, id, message)));
        }
    }
    at_once::all(WRITES_AT_ONCE, writes).await.map(drop)
}

async fn write_mentions_of(tools: &Tools, id: &ConversationId, sent: &MessageSent) -> Result<(), StoreError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    if !sent.mentions.is_empty() {
        retrier.run(|| store.add_mentions(id, sent.seq, &sent.mentions)).await?;
    }
    if sent.mention_all {
        retrier.run(|| store.add_mention_all(id, sent.seq)).await?;
    }
    Ok(())
}

/// Sending clears one's own red dot.
async fn raise_own(tools: &Tools, id: &ConversationId, sent: &[MessageSent]) -> Result<(), StoreError> {
    let mut own: BTreeMap<Uid, Seq> = BTreeMap::new();
    for message in sent {
        let newest = own.entry(message.sender_uid).or_default();
        *newest = (*newest).max(message.seq);
    }
    let mut writes: Vec<Call<'_, (), StoreError>> = Vec::new();
    for (uid, seq) in own {
        writes.push(Box::pin(async move {
            let raise = [Raise::Own(seq)];
            tools.retrier.run(|| tools.ports.store.raise(uid, id, &raise)).await
        }));
    }
    at_once::all(WRITES_AT_ONCE, writes).await.map(drop)
}

/// Reads the head, then raises it; gives back what it was.
async fn raise_head(tools: &Tools, id: &ConversationId, plan: &Plan) -> Result<Seq, StoreError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let before = retrier.run(|| store.conversation(id)).await?.unwrap_or_default();
    if plan.imported_head > before.imported_head {
        retrier.run(|| store.raise_imported_head(id, plan.imported_head)).await?;
    }
    if plan.head > before.head {
        retrier.run(|| store.raise_head(id, plan.head)).await?;
    }
    Ok(before.head)
}

/// What the notifier and the outside must learn.
fn tell(id: &ConversationId, plan: &Plan, head_seq: Seq, outcome: &mut Outcome) -> Result<(), StepError> {
    let mut page: Vec<HeadMessage> = Vec::new();
    let mut mentions = 0;
    let mut pages = Vec::new();
    for sent in &plan.sent {
        mentions += sent.mentions.len();
        page.push(HeadMessage {
            seq: sent.seq,
            sender_uid: sent.sender_uid,
            sent_at: sent.occurred_at,
            countable: sent.countable,
            mentions: sent.mentions.clone(),
            mention_all: sent.mention_all,
        });
        if page.len() >= MESSAGES_PER_RECORD || mentions >= MENTIONS_PER_RECORD {
            pages.push((head_seq, std::mem::take(&mut page)));
            mentions = 0;
        }
    }
    if !page.is_empty() {
        pages.push((head_seq, page));
    }
    if plan.imported_head > Seq::ZERO {
        // By itself: a head that messages stand beside is told as far as they reach.
        pages.push((plan.imported_head, Vec::new()));
    }
    for (head_seq, messages) in pages {
        let accepted = messages.iter().filter_map(|message| plan.accepted_at.get(&message.seq)).min();
        let changed = ConversationChanged::Head { conversation_id: id.clone(), head_seq, messages };
        let record = NewRecord::of(&changed)?;
        outcome.records.push(match accepted {
            Some(accepted_at) => record.with_header(header_name::ACCEPTED_AT_MS, accepted_at),
            None => record,
        });
    }
    let uncounted = SeqRanges::from_seqs(plan.flags.keys().copied());
    for seqs in uncounted.split(MAX_SKIP_SEQS, RANGES_PER_RECORD) {
        let changed = ConversationChanged::Uncounted { conversation_id: id.clone(), seqs, head_seq };
        outcome.records.push(NewRecord::of(&changed)?);
    }
    Ok(())
}
