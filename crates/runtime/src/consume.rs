//! The consumer loop: the same for every role, on every log.

use crate::ports::{Ports, Rules};
use crate::retry::{Retrier, pause_ms};
use crate::role::{Role, RoleError};
use readmark_log::{Consumer, LogError, LogErrorKind, PolledEvent, TopicPartition};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// Longest wait for records: bounds how late a stop is noticed.
const LONGEST_WAIT_MS: u64 = 100;

/// Polls after the signal to stop: what was accepted until then is handled, a long backlog is left for the next
/// start.
const LAST_POLLS: u32 = 16;

/// What a running role owns, for readiness.
#[derive(Debug, Default)]
pub struct Standing {
    is_assigned: AtomicBool,
}

impl Standing {
    /// Has the role been given its share of the partitions? It may be an empty one, where a group has more
    /// members than partitions.
    #[must_use]
    pub fn is_assigned(&self) -> bool {
        self.is_assigned.load(Ordering::Relaxed)
    }
}

/// Runs a role as [`consume_watched`] does, with nobody looking.
///
/// # Errors
/// What no repetition heals: see [`RoleError`].
pub async fn consume(
    role: &mut dyn Role,
    ports: &Ports,
    rules: &Rules,
    stop: &CancellationToken,
) -> Result<(), RoleError> {
    consume_watched(role, ports, rules, stop, &Standing::default()).await
}

/// Runs a role until `stop` is cancelled; then drains it, stores its positions and leaves the group.
///
/// # Errors
/// What no repetition heals: see [`RoleError`].
pub async fn consume_watched(
    role: &mut dyn Role,
    ports: &Ports,
    rules: &Rules,
    stop: &CancellationToken,
    standing: &Standing,
) -> Result<(), RoleError> {
    let retrier = Retrier::new(ports.clock.clone(), role.name());
    let group = rules.group(role.name());
    let topics = role.topics();
    let consumer = retrier.run(|| ports.log.join(&group, topics)).await?;
    let mut member = Member::new(consumer);
    while !stop.is_cancelled() {
        member.turn(role, ports).await?;
        standing.is_assigned.store(member.is_assigned, Ordering::Relaxed);
    }
    member.catch_up(role).await?;
    let owned: Vec<TopicPartition> = member.owned.iter().copied().collect();
    role.drain(&owned).await?;
    member.store_positions(role).await?;
    is_done(role.name(), member.consumer.close().await)?;
    Ok(())
}

struct Member {
    consumer: Box<dyn Consumer>,
    owned: BTreeSet<TopicPartition>,
    paused: BTreeSet<TopicPartition>,
    /// Failed polls in a row.
    failures: u32,
    /// The group has given it a share, and not taken it away without asking.
    is_assigned: bool,
}

impl Member {
    fn new(consumer: Box<dyn Consumer>) -> Self {
        Self { consumer, owned: BTreeSet::new(), paused: BTreeSet::new(), failures: 0, is_assigned: false }
    }

    async fn turn(&mut self, role: &mut dyn Role, ports: &Ports) -> Result<(), RoleError> {
        let now_ms = ports.clock.elapsed_ms();
        let wait_ms = role.next_wake_ms().map_or(LONGEST_WAIT_MS, |at| at.saturating_sub(now_ms));
        match self.consumer.next(wait_ms.min(LONGEST_WAIT_MS)).await {
            Ok(event) => {
                self.failures = 0;
                self.handle(role, event).await?;
            }
            Err(error) if error.is_retryable() => {
                let pause = pause_ms(self.failures);
                tracing::warn!(role = role.name(), pause_ms = pause, %error, "the log can't be read, waiting");
                self.failures = self.failures.saturating_add(1);
                ports.clock.sleep_ms(pause).await;
            }
            Err(error) => return Err(error.into()),
        }
        role.advance().await?;
        self.store_positions(role).await?;
        self.pause_what_is_full(role).await
    }

    /// Takes what the log holds already, without waiting for more.
    async fn catch_up(&mut self, role: &mut dyn Role) -> Result<(), RoleError> {
        for _ in 0..LAST_POLLS {
            match self.consumer.next(0).await {
                Ok(PolledEvent::Idle) => break,
                Ok(event) => self.handle(role, event).await?,
                Err(error) if error.is_retryable() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn handle(&mut self, role: &mut dyn Role, event: PolledEvent) -> Result<(), RoleError> {
        match event {
            PolledEvent::Assigned(partitions) => {
                role.take_over(&partitions).await?;
                self.is_assigned = true;
                self.owned.extend(partitions);
            }
            PolledEvent::Records(records) => role.absorb(records).await?,
            PolledEvent::Revoked(partitions) => {
                role.drain(&partitions).await?;
                self.store_positions(role).await?;
                self.give_up(role, &partitions);
                // When it fails, the log takes them after its deadline.
                is_done(role.name(), self.consumer.release(&partitions).await)?;
            }
            PolledEvent::Lost(partitions) => {
                tracing::warn!(role = role.name(), count = partitions.len(), "partitions lost");
                self.is_assigned = false;
                self.give_up(role, &partitions);
            }
            PolledEvent::Idle => {}
        }
        Ok(())
    }

    fn give_up(&mut self, role: &mut dyn Role, partitions: &[TopicPartition]) {
        role.forget(partitions);
        for partition in partitions {
            self.owned.remove(partition);
            self.paused.remove(partition);
        }
    }

    /// A position that could not be stored is stored with the next one: until then records come twice.
    async fn store_positions(&mut self, role: &mut dyn Role) -> Result<(), RoleError> {
        let positions = role.progress().to_store();
        if positions.is_empty() {
            return Ok(());
        }
        match self.consumer.commit(&positions).await {
            Ok(()) => role.progress().stored(&positions),
            Err(error) => match error.kind {
                LogErrorKind::Unavailable | LogErrorKind::NotOwner => {
                    tracing::warn!(role = role.name(), %error, "positions not stored");
                }
                LogErrorKind::Refused | LogErrorKind::Corrupt => return Err(error.into()),
            },
        }
        Ok(())
    }

    async fn pause_what_is_full(&mut self, role: &mut dyn Role) -> Result<(), RoleError> {
        let full = role.full();
        let to_pause: Vec<_> = full.difference(&self.paused).copied().collect();
        let to_resume: Vec<_> = self.paused.difference(&full).copied().collect();
        let mut done = true;
        if !to_pause.is_empty() {
            done &= is_done(role.name(), self.consumer.pause(&to_pause).await)?;
        }
        if !to_resume.is_empty() {
            done &= is_done(role.name(), self.consumer.resume(&to_resume).await)?;
        }
        if !done {
            return Ok(());
        }
        self.paused = full;
        Ok(())
    }
}

/// Did a call that the next turn, or the log itself, makes up for succeed? It is no reason to stop the role.
fn is_done(role: &str, called: Result<(), LogError>) -> Result<bool, RoleError> {
    match called {
        Ok(()) => Ok(true),
        Err(error) => match error.kind {
            LogErrorKind::Unavailable | LogErrorKind::NotOwner => {
                tracing::warn!(role, %error, "the log did not answer, going on");
                Ok(false)
            }
            LogErrorKind::Refused | LogErrorKind::Corrupt => Err(error.into()),
        },
    }
}
