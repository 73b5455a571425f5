use super::CqlStore;
use super::error::{At, Key};
use super::message_store::limit;
use super::request::{Write, all};
use super::value::{int, number};
use crate::error::StoreError;
use crate::port::DeadLetterStore;
use crate::resolution::{from_number, to_number};
use async_trait::async_trait;
use readmark_domain::dead_letter::{LetterId, Resolution};
use std::collections::BTreeMap;

/// Letters of one partition of the table: a few megabytes.
const BLOCK_LETTERS: u64 = 65_536;

const fn at<'a>(operation: &'static str, partition: u32, block: u64) -> At<'a> {
    At::new(operation, "dead_letter_state", Key::Letters(partition, block))
}

#[async_trait]
impl DeadLetterStore for CqlStore {
    async fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> Result<(), StoreError> {
        let mut blocks: BTreeMap<(u32, u64), Vec<_>> = BTreeMap::new();
        for (id, resolution) in resolutions {
            let block = id.offset / BLOCK_LETTERS;
            let (order, cell) = (int(resolution.at.get()), int(to_number(*resolution)));
            let values = (order, cell, i64::from(id.partition), int(block), int(id.offset));
            let write = Write::new(&self.statements.raise_resolution, values);
            blocks.entry((id.partition, block)).or_default().push(write);
        }
        let writes = blocks.into_iter().map(|((partition, block), writes)| {
            self.write(at("resolve dead letters", partition, block), writes)
        });
        all(writes).await.map(drop)
    }

    async fn resolutions(
        &self,
        partition: u32,
        first: u64,
        last: u64,
        most: usize,
    ) -> Result<Vec<(LetterId, Resolution)>, StoreError> {
        let mut found = Vec::new();
        if first > last {
            return Ok(found);
        }
        for block in first / BLOCK_LETTERS..=last / BLOCK_LETTERS {
            if found.len() == most {
                break;
            }
            let at = at("read resolutions", partition, block);
            let left = most - found.len();
            let values = (i64::from(partition), int(block), int(first), int(last), limit(left));
            for (offset, cell) in
                self.rows::<(i64, i64)>(at, &self.statements.read_resolutions, values, left).await?
            {
                let offset = number(offset).map_err(|fault| at.corrupt(fault))?;
                let resolution = number(cell).and_then(from_number).map_err(|fault| at.corrupt(fault))?;
                found.push((LetterId { partition, offset }, resolution));
            }
        }
        Ok(found)
    }
}
