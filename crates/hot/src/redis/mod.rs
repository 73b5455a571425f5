//! The hot state on Redis 7 or later, one server or a cluster.
//!
//! A user's keys have its hash tag, so that one script changes them together; each operation of the port is one
//! script (`lua/`), which does what [`readmark_domain::hot::User`] says and may be repeated. Scripts are known by their
//! hash; a server that does not know one is sent the text.
//!
//! | key | what |
//! |---|---|
//! | `PREFIX:{UID}:user` | the record: reign, epoch, version, totals, counts of what the other keys hold |
//! | `…:conversations` | hash: conversation → registers |
//! | `…:stream` | stream: `VERSION-0` → entry |
//! | `…:tallies`, `…:tally-order` | hash: message → last tally told; list: messages in the order they were first told in |
//! | `…:wake` | the channel of wake-ups |
//!
//! The *reign* in the record is the `master_replid` of the server that wrote it. Every start and every promotion of a
//! master draws a new one, and each script compares it with the server's own; so what may have lost writes is missing.

mod call;
mod codec;
mod connect;
mod error;
mod keys;
mod look;
mod options;
mod pack;
mod scan;
mod script;
mod topology;
mod usage;
mod watch;

pub use look::{FoundMaster, FoundRedis, look};
pub use options::{RedisOptions, RedisTls, url_fault};

use crate::KEPT_MS;
use crate::error::HotError;
use crate::inbox::Wakeups;
use crate::port::{Begun, Held, HotState, TallyTold, Usage, UserChange, Watch};
use async_trait::async_trait;
use call::{Call, Caller};
use connect::{Server, Target};
use error::{hot_error, strange};
use keys::Keys;
use readmark_domain::hot::{
    Applied, Completed, CountRange, Epoch, Picture, PictureRow, SyncToken, Synced, Version,
};
use readmark_domain::id::{ConversationId, Seq, Uid};
use redis::Value;
use script::{Script, Scripts};
use std::collections::BTreeSet;
use std::sync::Arc;
use topology::Topology;
use usage::Walks;

/// What a script's answer begins with.
const MISSING: i64 = 0;
const INCOMPLETE: i64 = 1;
const COMPLETE: i64 = 2;

/// By how much a state may live shorter than promised, in milliseconds, so that not every call of a user is a write.
const TOUCH_SLACK_MS: u64 = 3_600_000;

/// Rows that a script looks up by name; for more, all are read.
const NAMED_ROWS_MAX: usize = 1_000;

/// A hot state on Redis.
pub struct RedisHot {
    server: Server,
    target: Target,
    keys: Keys,
    scripts: Scripts,
    topology: Topology,
    walks: Walks,
    rebuild_lease_ms: u64,
}

impl std::fmt::Debug for RedisHot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisHot").field("urls", &self.target.shown()).finish_non_exhaustive()
    }
}

impl RedisHot {
    /// Connects. Whether it is a cluster is found out.
    ///
    /// # Errors
    /// Unavailable when no server answers; refused when the options are wrong, or the server is too old.
    pub async fn open(options: &RedisOptions) -> Result<Self, HotError> {
        let target = Target::new(options)?;
        let server = Server::connect(&target).await?;
        Ok(Self {
            scripts: Scripts::new(server.is_cluster()),
            server,
            target,
            keys: Keys::new(&options.key_prefix),
            topology: Topology::default(),
            walks: Walks::default(),
            rebuild_lease_ms: options.rebuild_lease_ms,
        })
    }

    fn caller<'s>(&'s self, operation: &'static str, script: &'s Script) -> Caller<'s> {
        Caller { server: &self.server, keys: &self.keys, topology: &self.topology, operation, script }
    }

    /// What can't be read is removed, to be rebuilt.
    async fn drop_unreadable<T>(&self, uid: Uid) -> Result<Held<T>, HotError> {
        self.forget(uid).await?;
        Ok(Held::Missing)
    }
}

#[async_trait]
impl HotState for RedisHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        // The members of a group are told the same change: it is packed once.
        let mut packed: Vec<Vec<u8>> = Vec::new();
        let mut of_change = Vec::with_capacity(changes.len());
        for (at, told) in changes.iter().enumerate() {
            if at == 0 || !Arc::ptr_eq(&told.change, &changes[at - 1].change) {
                packed.push(codec::pack_change(&told.change));
            }
            of_change.push(packed.len() - 1);
        }
        let calls: Vec<Call<'_>> = changes
            .iter()
            .zip(of_change)
            .map(|(told, at)| {
                let endpoint = codec::endpoint_of(&told.change.cause);
                let args = vec![told.conversation_id.as_str().as_bytes(), &packed[at], endpoint.as_bytes()];
                Call { uid: told.uid, args }
            })
            .collect();
        let answers = self.caller("apply", &self.scripts.apply).all(&calls).await;
        answers.into_iter().zip(&calls).map(|(answer, call)| applied("apply", call.uid, &answer?)).collect()
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        let packed: Vec<[Vec<u8>; 3]> = tallies
            .iter()
            .map(|told| {
                let change = &told.change;
                [codec::pack_message(change), codec::pack_tally(change), codec::pack_message_read(change)]
            })
            .collect();
        let calls: Vec<Call<'_>> = tallies
            .iter()
            .zip(&packed)
            .map(|(told, args)| Call { uid: told.uid, args: args.iter().map(Vec::as_slice).collect() })
            .collect();
        let answers = self.caller("apply_tallies", &self.scripts.apply_tally).all(&calls).await;
        let applied = |uid, answer: Result<Vec<Value>, HotError>| applied("apply_tallies", uid, &answer?);
        answers.into_iter().zip(&calls).map(|(answer, call)| applied(call.uid, answer)).collect()
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        let (version, limit) = (since.version.to_string(), limit.max(1).to_string());
        let args = vec![since.epoch.as_str().as_bytes(), version.as_bytes(), limit.as_bytes()];
        let answer = self.caller("entries", &self.scripts.entries).one(uid, args).await?;
        let found = match answer.as_slice() {
            [Value::Int(MISSING)] => return Ok(Held::Missing),
            [Value::Int(INCOMPLETE)] => return Ok(Held::Incomplete),
            [Value::Int(COMPLETE)] => return Ok(Held::Complete(Synced::TooOld)),
            [Value::Int(COMPLETE), Value::Int(newest), Value::Array(found)] => {
                read_entries(since, *newest, found)
            }
            _ => return Err(strange("entries", format_args!("user {uid}"))),
        };
        match found {
            Some(synced) => Ok(Held::Complete(synced)),
            None => self.drop_unreadable(uid).await,
        }
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        let only: Option<BTreeSet<&ConversationId>> = only.map(|ids| ids.iter().collect());
        let named = only.as_ref().filter(|ids| (1..=NAMED_ROWS_MAX).contains(&ids.len()));
        let args = named.map_or_else(Vec::new, |ids| ids.iter().map(|id| id.as_str().as_bytes()).collect());
        let answer = self.caller("picture", &self.scripts.picture).one(uid, args).await?;
        match answer.as_slice() {
            [Value::Int(MISSING)] => return Ok(Held::Missing),
            [Value::Int(INCOMPLETE)] => return Ok(Held::Incomplete),
            [Value::Int(COMPLETE), ..] => {}
            _ => return Err(strange("picture", format_args!("user {uid}"))),
        }
        let Some(mut picture) = read_picture(&answer) else { return self.drop_unreadable(uid).await };
        if let Some(only) = &only {
            picture.rows.retain(|row| only.contains(&row.conversation_id));
        }
        Ok(Held::Complete(picture))
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        let (kept, slack) = (KEPT_MS.to_string(), TOUCH_SLACK_MS.to_string());
        let args = vec![kept.as_bytes(), slack.as_bytes()];
        match self.caller("touch", &self.scripts.touch).one(uid, args).await?.as_slice() {
            [Value::Int(MISSING)] => Ok(Held::Missing),
            [Value::Int(INCOMPLETE)] => Ok(Held::Incomplete),
            [Value::Int(COMPLETE)] => Ok(Held::Complete(())),
            _ => Err(strange("touch", format_args!("user {uid}"))),
        }
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        let epoch = Epoch::of_random(rand::random());
        let (kept, lease) = (KEPT_MS.to_string(), self.rebuild_lease_ms.to_string());
        let args = vec![epoch.as_str().as_bytes(), kept.as_bytes(), lease.as_bytes()];
        match self.caller("begin_rebuild", &self.scripts.begin_rebuild).one(uid, args).await?.as_slice() {
            [Value::Int(MISSING)] => Ok(Begun::Rebuild(epoch)),
            [Value::Int(INCOMPLETE)] => Ok(Begun::Running),
            [Value::Int(COMPLETE)] => Ok(Begun::Complete),
            _ => Err(strange("begin_rebuild", format_args!("user {uid}"))),
        }
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        let args = vec![epoch.as_str().as_bytes()];
        let answer = self.caller("complete_rebuild", &self.scripts.complete_rebuild).one(uid, args).await?;
        let read = match answer.as_slice() {
            [Value::Int(MISSING)] => Some(Completed::Lost),
            [Value::Int(INCOMPLETE), Value::Array(to_count)] => {
                to_count.iter().map(read_to_count).collect::<Option<_>>().map(Completed::ToCount)
            }
            [Value::Int(COMPLETE), Value::Int(version)] => read_number(*version)
                .and_then(|version| Version::new(version).ok())
                .map(|version| Completed::Complete(SyncToken { epoch: epoch.clone(), version })),
            _ => None,
        };
        read.ok_or_else(|| strange("complete_rebuild", format_args!("user {uid}")))
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        self.caller("forget", &self.scripts.forget).one(uid, Vec::new()).await.map(drop)
    }

    async fn forget_all(&self) -> Result<(), HotError> {
        let failed = |error: &redis::RedisError| hot_error("forget_all", self.target.shown(), error);
        let caller = self.caller("forget_all", &self.scripts.forget);
        for node in scan::masters(&self.server).await.map_err(|error| failed(&error))?.into_keys() {
            let mut cursor = Some(scan::Cursor::default());
            while let Some(at) = cursor {
                let step = scan::step(&self.server, &node, &self.keys, at).await;
                let (found, next) = step.map_err(|error| failed(&error))?;
                let calls: Vec<Call<'_>> =
                    found.into_iter().map(|uid| Call { uid, args: Vec::new() }).collect();
                caller.all(&calls).await.into_iter().try_for_each(|answer| answer.map(drop))?;
                cursor = next;
            }
        }
        Ok(())
    }

    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
        watch::subscribe(self.target.clone(), self.keys.clone(), self.server.is_cluster()).await
    }

    async fn probe(&self) -> Result<(), HotError> {
        let masters = scan::masters(&self.server).await;
        let masters = masters.map_err(|error| hot_error("probe", self.target.shown(), &error))?;
        usage::check_masters(&masters).inspect_err(|_| self.server.leads_to_a_replica())
    }

    async fn usage(&self) -> Result<Usage, HotError> {
        let usage = self.walks.usage(&self.server, &self.keys).await;
        usage.map_err(|error| hot_error("usage", self.target.shown(), &error))
    }
}

fn read_number(n: i64) -> Option<u64> {
    u64::try_from(n).ok()
}

fn read_seq(n: i64) -> Option<Seq> {
    Seq::new_or_zero(read_number(n)?).ok()
}

/// What a merge answered.
fn applied(operation: &'static str, uid: Uid, answer: &[Value]) -> Result<Option<Applied>, HotError> {
    let read = || {
        let [Value::Int(_), Value::Int(version), Value::Int(appended), Value::Int(floor), Value::Int(head)] =
            answer
        else {
            return None;
        };
        let to_count = match floor {
            -1 => None,
            _ => Some(CountRange { floor: read_seq(*floor)?, head: read_seq(*head)? }),
        };
        let version = Version::new(read_number(*version)?).ok()?;
        Some(Applied { version, appended: u8::try_from(*appended).ok()?, to_count })
    };
    match answer {
        [Value::Int(MISSING)] => Ok(None),
        _ => read().map(Some).ok_or_else(|| strange(operation, format_args!("user {uid}"))),
    }
}

fn read_to_count(value: &Value) -> Option<(ConversationId, CountRange)> {
    let Value::Array(fields) = value else { return None };
    let [Value::BulkString(id), Value::Int(floor), Value::Int(head)] = fields.as_slice() else { return None };
    let range = CountRange { floor: read_seq(*floor)?, head: read_seq(*head)? };
    Some((read_conversation(id)?, range))
}

fn read_conversation(bytes: &[u8]) -> Option<ConversationId> {
    ConversationId::new(std::str::from_utf8(bytes).ok()?).ok()
}

/// Entries right after a token, ascending.
fn read_entries(since: &SyncToken, newest: i64, found: &[Value]) -> Option<Synced> {
    let newest = Version::new(read_number(newest)?).ok()?;
    let mut version = since.version;
    let mut entries = Vec::with_capacity(found.len());
    for value in found {
        let Value::BulkString(bytes) = value else { return None };
        version = version.next();
        entries.push(codec::read_entry(version, bytes)?);
    }
    let token = SyncToken { epoch: since.epoch.clone(), version };
    Some(Synced::Entries { entries, token, more: version < newest })
}

fn read_picture(answer: &[Value]) -> Option<Picture> {
    let [_, Value::BulkString(epoch), numbers @ .., Value::Array(registers)] = answer else { return None };
    let mut read = numbers.iter().map(|value| if let Value::Int(n) = value { read_number(*n) } else { None });
    let mut next = || read.next().flatten();
    let epoch = Epoch::new(std::str::from_utf8(epoch).ok()?).ok()?;
    let version = Version::new(next()?).ok()?;
    let total = codec::total(next()?, next()?);
    let total_mentions = codec::total(next()?, next()?);
    let mut rows = Vec::with_capacity(registers.len() / 2);
    for pair in registers.chunks_exact(2) {
        let [Value::BulkString(id), Value::BulkString(bytes)] = pair else { return None };
        let registers = codec::read_registers(bytes)?;
        if let Some(row) = registers.row() {
            rows.push(PictureRow {
                conversation_id: read_conversation(id)?,
                row,
                newest_sent_at: registers.newest_sent_at,
                is_large: registers.is_large,
                to_count: registers.missing(),
            });
        }
    }
    rows.sort_unstable_by(|a, b| a.conversation_id.cmp(&b.conversation_id));
    Some(Picture { token: SyncToken { epoch, version }, total, total_mentions, rows })
}
