//! Calls of scripts: in pipelines of bounded size, repeated while that may help, each answered by itself.

use super::connect::Server;
use super::error::{Disposition, disposition, hot_error};
use super::keys::Keys;
use super::script::Script;
use super::topology::Topology;
use crate::error::{HotError, HotErrorKind};
use futures::stream::{self, StreamExt};
use readmark_domain::id::Uid;
use redis::cluster_routing::{Route, SingleNodeRoutingInfo, SlotAddr};
use redis::{Cmd, Pipeline, RedisResult, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Calls in one pipeline: measured, more gain little, and others wait a few milliseconds at most behind it.
pub(super) const PIPELINE_CALLS: usize = 128;
/// Pipelines of one operation on their way at once: one is worked on while the next one is written.
const PIPELINES_AT_ONCE: usize = 4;
/// Single commands on their way at once, where a pipeline can't be used.
const COMMANDS_AT_ONCE: usize = 64;
/// An operation takes no longer than this, repeats included.
const CALL_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Pauses before a repeat: a connection that was cut is there again after the first; a slot that moves, or a server
/// that loads its data, after the later ones. What is away for longer is the caller's to ask for again.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];

/// One call of a script.
pub(super) struct Call<'c> {
    pub uid: Uid,
    pub args: Vec<&'c [u8]>,
}

/// What is called, and with which keys.
pub(super) struct Caller<'s> {
    pub server: &'s Server,
    pub keys: &'s Keys,
    pub topology: &'s Topology,
    pub operation: &'static str,
    pub script: &'s Script,
}

/// How far a call has come.
struct Progress {
    /// The server does not know the script yet.
    sends_text: bool,
    outcome: Option<RedisResult<Value>>,
}

impl Progress {
    fn is_open(&self) -> bool {
        match &self.outcome {
            None => true,
            Some(_) => self.failure().is_some_and(|failure| failure != Disposition::Refuse),
        }
    }

    fn failure(&self) -> Option<Disposition> {
        self.outcome.as_ref().and_then(|outcome| outcome.as_ref().err()).map(disposition)
    }
}

impl Caller<'_> {
    /// Makes one call.
    pub async fn one(&self, uid: Uid, args: Vec<&[u8]>) -> Result<Vec<Value>, HotError> {
        let answers = self.all(&[Call { uid, args }]).await;
        answers.into_iter().next().unwrap_or_else(|| Err(super::error::strange(self.operation, uid)))
    }

    /// Makes calls; answers in their order.
    pub async fn all(&self, calls: &[Call<'_>]) -> Vec<Result<Vec<Value>, HotError>> {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let mut progress: Vec<Progress> =
            calls.iter().map(|_| Progress { sends_text: false, outcome: None }).collect();
        let mut pauses = PAUSES.iter();
        let (mut is_repeat, mut finds_master) = (false, false);
        loop {
            let open: Vec<usize> = (0..calls.len()).filter(|at| progress[*at].is_open()).collect();
            if open.is_empty()
                || timeout_at(deadline, self.send(calls, &mut progress, &open, is_repeat)).await.is_err()
            {
                break;
            }
            let mut waits = false;
            for one in &mut progress {
                match one.failure() {
                    Some(Disposition::SendText) => one.sends_text = true,
                    Some(Disposition::Repeat) => waits = true,
                    Some(Disposition::FindMaster) => finds_master = true,
                    Some(Disposition::Refuse) | None => {}
                }
            }
            if std::mem::take(&mut finds_master) {
                self.server.leads_to_a_replica();
                waits = true;
            }
            if waits {
                is_repeat = true;
                self.topology.is_stale();
                let Some(pause) = pauses.next() else { break };
                sleep(*pause).await;
            }
        }
        calls.iter().zip(progress).map(|(call, one)| self.answer(call.uid, one.outcome)).collect()
    }

    fn answer(&self, uid: Uid, outcome: Option<RedisResult<Value>>) -> Result<Vec<Value>, HotError> {
        match outcome {
            Some(Ok(Value::Array(values))) => Ok(values),
            Some(Ok(_)) => Err(super::error::strange(self.operation, uid)),
            Some(Err(error)) => Err(hot_error(self.operation, format_args!("user {uid}"), &error)),
            None => {
                let detail = format!("no answer within {} ms", CALL_TIMEOUT.as_millis());
                Err(HotError::new(
                    self.operation,
                    format_args!("user {uid}"),
                    HotErrorKind::Unavailable,
                    detail,
                ))
            }
        }
    }

    /// Sends what is open, and notes the outcomes as they come.
    async fn send(&self, calls: &[Call<'_>], progress: &mut [Progress], open: &[usize], is_repeat: bool) {
        let batches = self.batches(calls, open, is_repeat).await;
        let at_once = if batches.len() > open.len() / 2 { COMMANDS_AT_ONCE } else { PIPELINES_AT_ONCE };
        let commands: Vec<(Vec<usize>, Vec<Cmd>)> = batches
            .into_iter()
            .map(|batch| {
                let commands =
                    batch.iter().map(|at| self.command(&calls[*at], progress[*at].sends_text)).collect();
                (batch, commands)
            })
            .collect();
        let sent = commands.into_iter().map(|(batch, commands)| async move {
            let slot = Keys::slot(calls[batch[0]].uid);
            (batch, self.send_batch(commands, slot).await)
        });
        let mut sent = stream::iter(sent).buffer_unordered(at_once);
        while let Some((batch, outcome)) = sent.next().await {
            match outcome {
                Ok(values) => {
                    for (at, value) in batch.iter().zip(values) {
                        progress[*at].outcome = Some(value.extract_error());
                    }
                }
                Err(error) => batch.iter().for_each(|at| progress[*at].outcome = Some(Err(error.clone()))),
            }
        }
    }

    /// What goes together: on one server, calls in their order; in a cluster, those of one node. A repeat in a cluster
    /// goes one by one, since for single commands the client follows slots that have moved.
    async fn batches(&self, calls: &[Call<'_>], open: &[usize], is_repeat: bool) -> Vec<Vec<usize>> {
        let groups: Vec<Vec<usize>> = match self.server {
            Server::One(_) => vec![open.to_vec()],
            Server::Cluster(_) if is_repeat => return open.iter().map(|at| vec![*at]).collect(),
            Server::Cluster(cluster) => {
                let nodes = self.topology.nodes(cluster).await;
                let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
                for at in open {
                    groups.entry(nodes.group(Keys::slot(calls[*at].uid))).or_default().push(*at);
                }
                groups.into_values().collect()
            }
        };
        groups.iter().flat_map(|group| group.chunks(PIPELINE_CALLS)).map(<[usize]>::to_vec).collect()
    }

    async fn send_batch(&self, commands: Vec<Cmd>, slot: u16) -> RedisResult<Vec<Value>> {
        if let [command] = commands.as_slice() {
            return self.server.command(command).await.map(|value| vec![value]);
        }
        let count = commands.len();
        let mut pipeline = Pipeline::with_capacity(count);
        pipeline.ignore_errors();
        for command in commands {
            pipeline.add_command(command);
        }
        match self.server {
            Server::One(one) => one.connection().send_packed_commands(&pipeline, 0, count).await,
            Server::Cluster(cluster) => {
                let route = Route::new(slot, SlotAddr::Master);
                cluster
                    .clone()
                    .route_pipeline(pipeline, 0, count, SingleNodeRoutingInfo::SpecificNode(route))
                    .await
            }
        }
    }

    fn command(&self, call: &Call<'_>, sends_text: bool) -> Cmd {
        let mut command = if sends_text { redis::cmd("EVAL") } else { redis::cmd("EVALSHA") };
        command.arg(if sends_text { &self.script.text } else { &self.script.hash });
        command.arg(super::keys::KEYS).arg(&self.keys.of(call.uid)).arg(&call.args);
        command
    }
}
