//! The thread of a member: it polls, and nobody else does. Rebalances are called from within that poll.

use super::config;
use super::coverage::{ANSWER_WITHIN, Coverage};
use super::error::{code_of, kind_of, log_error};
use super::handover::{Handover, Positions};
use super::instance::Lease;
use super::names::{Names, record_bytes};
use super::options::{KafkaLogOptions, POLL_BYTES_MAX, POLL_RECORDS_MAX};
use super::rights;
use super::words::Words;
use crate::error::{LogError, LogErrorKind};
use crate::record::TopicPartition;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientConfig, ClientContext};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one poll waits: bounds how late positions are sent, pauses take effect and a close is noticed.
const POLL_STEP: Duration = Duration::from_millis(20);

/// For how long the thread lets a full hand-over keep it from polling. Then it pauses everything at the client, which
/// costs a new fetch, and polls on, so that a slow role holds up no rebalance of the group.
const FULL_PATIENCE: Duration = Duration::from_millis(500);

/// How long an empty share must last to be told. What others must give back first comes within a rebalance, which takes
/// them well below a second unless they are in the middle of work.
const SPARE_AFTER: Duration = Duration::from_secs(3);

/// How the client tells that a commit was what fenced it.
const COMMIT_FENCED: &str = "OffsetCommit failed: ";

/// How long the last positions are tried to be stored before a partition goes or the member leaves.
const LAST_COMMIT_ATTEMPTS: u32 = 3;

/// What librdkafka calls while it is polled.
#[derive(Clone)]
pub(super) struct Membership {
    handover: Arc<Handover>,
    names: Names,
    revoke_within: Duration,
    words: Arc<Words>,
}

impl ClientContext for Membership {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.words.log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.words.error(&error, reason);
    }
}

impl ConsumerContext for Membership {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            // Empty ones are normal: they add nothing, or come before what others must give back.
            Rebalance::Assign(added) => {
                // The client remembers for ever that one was paused, also when it went and comes back. Those that it has
                // not had before it does not know.
                if let Err(error) = consumer.resume(added) {
                    tracing::warn!(%error, "partitions not resumed before they are taken");
                }
                self.handover.assigned(self.names.partitions(added));
            }
            Rebalance::Revoke(revoked) => self.revoke(consumer, self.names.partitions(revoked)),
            Rebalance::Error(error) => self.words.note(&error.to_string()),
        }
    }
}

impl Membership {
    fn revoke(&self, consumer: &BaseConsumer<Self>, partitions: Vec<TopicPartition>) {
        let partitions = self.handover.owned(partitions);
        if partitions.is_empty() || self.handover.is_closing() {
            return;
        }
        if consumer.assignment_lost() {
            return self.handover.lost(partitions);
        }
        let positions = self.handover.ask_back(partitions, self.revoke_within);
        self.commit_last(consumer, positions);
    }

    /// Stores positions for sure, or says that the next owner will begin earlier.
    fn commit_last(&self, consumer: &BaseConsumer<Self>, positions: Positions) {
        if positions.is_empty() {
            return;
        }
        let list = self.names.positions(positions);
        for attempt in 1..=LAST_COMMIT_ATTEMPTS {
            match consumer.commit(&list, CommitMode::Sync) {
                Ok(()) => return,
                Err(error) => {
                    let kind = error.rdkafka_error_code().map_or(LogErrorKind::Unavailable, kind_of);
                    if attempt == LAST_COMMIT_ATTEMPTS || kind != LogErrorKind::Unavailable {
                        tracing::warn!(%error, "last positions not stored: records will come again");
                        return;
                    }
                }
            }
        }
    }
}

pub(super) struct Member {
    config: ClientConfig,
    consumer: BaseConsumer<Membership>,
    handover: Arc<Handover>,
    names: Names,
    words: Arc<Words>,
    group: String,
    topics: Vec<String>,
    max_silence: Duration,
    commit_every: Duration,
    sent_at: Instant,
    /// Since when the role has not kept up.
    full_since: Option<Instant>,
    coverage: Coverage,
    /// Free for the next member of this process only when this one has gone.
    lease: Option<Lease>,
}

impl Member {
    /// Joins; the group answers later, by the hand-over.
    pub(super) fn join(
        options: &KafkaLogOptions,
        names: &Names,
        group: &str,
        partitions: BTreeSet<TopicPartition>,
        lease: Option<Lease>,
        handover: &Arc<Handover>,
    ) -> Result<Self, LogError> {
        let words = Arc::new(Words::default());
        let context = Membership {
            handover: Arc::clone(handover),
            names: names.clone(),
            revoke_within: options.revoke_within,
            words: Arc::clone(&words),
        };
        let config = config::member(options, group, lease.as_ref().map(Lease::instance_id));
        let consumer: BaseConsumer<Membership> =
            config.create_with_context(context).map_err(|error| log_error("join", &error))?;
        let topics: BTreeSet<&str> = partitions.iter().map(|one| names.of(one.topic)).collect();
        let topics: Vec<String> = topics.into_iter().map(str::to_owned).collect();
        let member = Self {
            config,
            consumer,
            handover: Arc::clone(handover),
            names: names.clone(),
            words,
            group: group.to_owned(),
            topics,
            max_silence: options.max_poll_interval,
            commit_every: options.commit_every,
            sent_at: Instant::now(),
            full_since: None,
            coverage: Coverage::new(group, partitions, options.revoke_within),
            lease,
        };
        member.subscribe().map_err(|error| log_error("join", &error))?;
        Ok(member)
    }

    fn subscribe(&self) -> KafkaResult<()> {
        self.consumer.subscribe(&self.topics.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Partitions that are nobody's are given to somebody when a member joins: this one, again.
    fn join_again_for(&self, nobodys: &BTreeSet<TopicPartition>) {
        tracing::warn!(
            group = self.group,
            count = nobodys.len(),
            "partitions belong to nobody, joining again"
        );
        self.consumer.unsubscribe();
        if let Err(error) = self.subscribe() {
            self.handover.fail(log_error("join again", &error));
        }
    }

    /// At the group as a whole: what nobody owns, and where it is with what is owned here.
    fn look(&mut self) {
        let seen = self.coverage.look(&self.consumer, &self.names);
        if let Some(nobodys) = seen.nobodys {
            return self.join_again_for(&nobodys);
        }
        let owned = self.handover.all_owned();
        if !seen.is_settled || owned.is_empty() {
            return;
        }
        match self.consumer.committed_offsets(self.names.list(owned), ANSWER_WITHIN) {
            Ok(found) => self.handover.group_is_at(&self.names.offsets(&found)),
            Err(error) => tracing::debug!(%error, "the group's positions were not read"),
        }
    }

    /// A client that is over is replaced when it has fenced itself: what it sent under a former membership has reached
    /// the brokers after it had joined anew under its name. Otherwise another process has that name.
    fn begin_anew(&mut self, over: LogError) -> Result<(), LogError> {
        let why = self.consumer.client().fatal_error().map_or_else(String::new, |(_, why)| why);
        if !why.starts_with(COMMIT_FENCED) || !self.handover.lose_to_own_commit() {
            return Err(over);
        }
        tracing::warn!(group = self.group, "a commit of the former membership came late, joining anew");
        let context = self.consumer.context().as_ref().clone();
        self.consumer =
            self.config.create_with_context(context).map_err(|error| log_error("join anew", &error))?;
        self.subscribe().map_err(|error| log_error("join anew", &error))
    }

    /// Works until the role has gone, then stores what it had stored and leaves.
    pub(super) fn run(mut self) {
        while !self.handover.is_closing() {
            self.send_positions();
            self.handover.tell_if_spare(SPARE_AFTER);
            if self.handover.silent_for() > self.max_silence {
                // The role hangs. Without polls the group will give its partitions to others.
                self.handover.wait(POLL_STEP);
                continue;
            }
            if self.handover.is_full() && !self.is_out_of_patience() {
                self.handover.wait(POLL_STEP);
                continue;
            }
            if self.coverage.is_due() {
                self.look();
            }
            self.pause_and_resume();
            let polled = self.poll();
            // Records that came before an error are not lost with it.
            self.handover.hand_over();
            match polled {
                Ok(()) => {}
                Err(Failure { error, is_over: true }) => {
                    if let Err(error) = self.begin_anew(error) {
                        self.handover.end(error);
                        break;
                    }
                }
                Err(Failure { error, is_over: false }) => self.handover.fail(error),
            }
        }
        let positions = self.handover.stored();
        self.consumer.context().commit_last(&self.consumer, positions);
        // What the client throws away while it closes was never stored.
        drop(self.consumer);
        drop(self.lease);
    }

    fn is_out_of_patience(&mut self) -> bool {
        self.full_since.get_or_insert_with(Instant::now).elapsed() > FULL_PATIENCE
    }

    fn send_positions(&mut self) {
        if self.sent_at.elapsed() < self.commit_every {
            return;
        }
        let positions = self.handover.to_send();
        if positions.is_empty() {
            return;
        }
        self.sent_at = Instant::now();
        let list = self.names.positions(positions);
        if let Err(error) = self.consumer.commit(&list, CommitMode::Async) {
            tracing::debug!(%error, "positions not sent, trying again");
            self.handover.not_sent();
        }
    }

    /// Brings the client's pauses in line: what the role has paused, or everything while it does not keep up.
    fn pause_and_resume(&mut self) {
        let is_full = self.handover.is_full();
        if !is_full {
            self.full_since = None;
        }
        let (pause, resume) = self.handover.to_pause_and_resume(is_full);
        if !pause.is_empty() {
            match self.consumer.pause(&self.names.list(pause.iter().copied())) {
                Ok(()) => self.handover.note_paused(&pause, true),
                Err(error) => tracing::debug!(%error, "partitions not paused at the client, trying again"),
            }
        }
        if !resume.is_empty() {
            match self.consumer.resume(&self.names.list(resume.iter().copied())) {
                Ok(()) => self.handover.note_paused(&resume, false),
                Err(error) => tracing::warn!(%error, "partitions not resumed at the client, trying again"),
            }
        }
    }

    /// One batch, as soon as there is anything.
    fn poll(&self) -> Result<(), Failure> {
        let (mut records, mut bytes) = (0, 0);
        while records < POLL_RECORDS_MAX && bytes < POLL_BYTES_MAX {
            let wait = if records == 0 { POLL_STEP } else { Duration::ZERO };
            match self.consumer.poll(wait) {
                None => break,
                Some(Ok(message)) => {
                    if let Some(record) = self.names.record(&message) {
                        bytes += record_bytes(&record);
                        records += 1;
                        self.handover.arrived(record);
                    }
                }
                Some(Err(error)) => {
                    if let Some(failure) = self.judge(&error) {
                        return Err(failure);
                    }
                }
            }
        }
        Ok(())
    }

    fn rights(&self) -> String {
        let topics = self.topics.join(", ");
        format!("{} and {}", rights::on_group("Read", &self.group), rights::on_topic("Read", &topics))
    }

    /// What to do about an error of a poll. Most are the weather: brokers that are away come back.
    fn judge(&self, error: &KafkaError) -> Option<Failure> {
        if let KafkaError::MessageConsumptionFatal(code) = error {
            let mut failed = log_error("poll", error);
            failed.kind = LogErrorKind::Refused;
            if *code == RDKafkaErrorCode::FencedInstanceId {
                let instance = self.lease.as_ref().map_or("", Lease::instance_id);
                failed.detail = format!("another process uses the instance id {instance:?} in this group");
            }
            return Some(Failure { error: failed, is_over: true });
        }
        let failed = log_error("poll", error);
        let mut failed = rights::explained(failed, code_of(error), || self.rights());
        match failed.kind {
            LogErrorKind::Refused | LogErrorKind::Corrupt => {
                failed.detail.push_str(&self.words.suffix());
                Some(Failure { error: failed, is_over: false })
            }
            LogErrorKind::Unavailable | LogErrorKind::NotOwner => {
                self.words.note(&error.to_string());
                tracing::debug!(%error, "polling on");
                None
            }
        }
    }
}

struct Failure {
    error: LogError,
    /// The client will never work again.
    is_over: bool,
}
