//! One migrator at a time: the only lightweight transaction there is, in a keyspace of its own, because
//! ScyllaDB knows none in a keyspace with tablets.

use super::{Schema, tables};
use crate::error::{StoreError, StoreErrorKind};
use scylla::statement::unprepared::Statement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::{CqlValue, Row};
use std::time::Duration;

/// What the lock's keyspace is called after the one it guards.
pub(super) const SUFFIX: &str = "_setup";
/// After this long a migrator that died holds it no more. Renewed before every step.
const HELD_S: i32 = 120;
/// A migrator waits for another one so often, twice as long as a dead one holds it.
const TRIES: u32 = 240;
const PAUSE_MS: u64 = 1_000;
/// A conditional statement is made so often before its error counts: a busy server lets rounds of agreement time out.
const ATTEMPTS: u32 = 5;

/// The lock, held.
pub(super) struct Lock {
    holder: String,
}

impl Lock {
    /// Waits until no other migrator holds it.
    pub async fn take(schema: &Schema) -> Result<Self, StoreError> {
        for step in tables::lock(&schema.config.keyspace, schema.config.replication_factor, schema.dialect) {
            schema.step(&step).await?;
        }
        schema.agree().await?;
        let lock = Self { holder: format!("{}-{:016x}", std::process::id(), rand::random::<u64>()) };
        for _ in 0..TRIES {
            if lock.try_take(schema).await? {
                return Ok(lock);
            }
            tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
        }
        Err(schema.at("lock the schema").error(
            StoreErrorKind::Unavailable,
            format!("another setup has been running for {} s", u64::from(TRIES) * PAUSE_MS / 1_000),
        ))
    }

    async fn try_take(&self, schema: &Schema) -> Result<bool, StoreError> {
        let text = "INSERT INTO {lock} (name, holder) VALUES ('migration', ?) IF NOT EXISTS USING TTL ?";
        if applied(schema, text, (&self.holder, HELD_S)).await? {
            return Ok(true);
        }
        // An answer may have been lost after it was taken.
        self.holder_is_this(schema).await
    }

    /// Holds it for longer; fails when it was lost.
    pub async fn renew(&self, schema: &Schema) -> Result<(), StoreError> {
        let text = "UPDATE {lock} USING TTL ? SET holder = ? WHERE name = 'migration' IF holder = ?";
        if applied(schema, text, (HELD_S, &self.holder, &self.holder)).await? {
            return Ok(());
        }
        let detail = "the lock ran out and another setup may be running: run it again";
        Err(schema.at("lock the schema").error(StoreErrorKind::Unavailable, detail))
    }

    /// Gives it back.
    pub async fn release(self, schema: &Schema) -> Result<(), StoreError> {
        applied(schema, "DELETE FROM {lock} WHERE name = 'migration' IF holder = ?", (&self.holder,))
            .await
            .map(drop)
    }

    async fn holder_is_this(&self, schema: &Schema) -> Result<bool, StoreError> {
        let at = schema.at("lock the schema");
        let mut statement = statement(schema, "SELECT holder FROM {lock} WHERE name = 'migration'");
        statement.set_consistency(Consistency::LocalSerial);
        let answer = schema.session.query_unpaged(statement, ()).await.map_err(|error| at.failed(&error))?;
        let rows = answer.into_rows_result().map_err(|error| at.corrupt(error))?;
        let row = rows.maybe_first_row::<(Option<String>,)>().map_err(|error| at.corrupt(error))?;
        Ok(row.and_then(|(holder,)| holder).is_some_and(|holder| holder == self.holder))
    }
}

fn statement(schema: &Schema, text: &str) -> Statement {
    let mut statement = Statement::new(text.replace("{lock}", &tables::lock_table(&schema.config.keyspace)));
    statement.set_serial_consistency(Some(SerialConsistency::LocalSerial));
    statement
}

/// Makes a conditional statement, again when its answer did not come: each of them is harmless when it took effect
/// before, though it may then say that it was not applied.
async fn applied(
    schema: &Schema,
    text: &str,
    values: impl scylla::serialize::row::SerializeRow,
) -> Result<bool, StoreError> {
    let mut attempts = 1;
    loop {
        match applied_once(schema, text, &values).await {
            Err(error) if error.is_retryable() && attempts < ATTEMPTS => {
                attempts += 1;
                tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
            }
            answer => return answer,
        }
    }
}

/// Its first column says whether it was applied; the others differ between servers and answers.
async fn applied_once(
    schema: &Schema,
    text: &str,
    values: impl scylla::serialize::row::SerializeRow,
) -> Result<bool, StoreError> {
    let at = schema.at("lock the schema");
    let answer = schema.session.query_unpaged(statement(schema, text), values).await;
    let answer = answer.map_err(|error| at.failed(&error))?;
    let rows = answer.into_rows_result().map_err(|error| at.corrupt(error))?;
    let row = rows.first_row::<Row>().map_err(|error| at.corrupt(error))?;
    match row.columns.first() {
        Some(Some(CqlValue::Boolean(applied))) => Ok(*applied),
        Some(_) | None => Err(at.corrupt("a conditional statement was answered without [applied]")),
    }
}
