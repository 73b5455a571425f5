use super::codec::{Decoder, Encoder, Fault};
use super::table::{DEAD_LETTER_STATE, Row};
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::DeadLetterStore;
use crate::resolution::{from_number, to_number};
use async_trait::async_trait;
use readmark_domain::dead_letter::{LetterId, Resolution};

impl Row for Resolution {
    const BYTES: usize = 8;

    fn encode(&self, out: &mut Encoder) {
        out.number(to_number(*self));
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        from_number(input.number()?)
    }
}

#[async_trait]
impl DeadLetterStore for EmbeddedStore {
    async fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> Result<(), StoreError> {
        let Some((first, _)) = resolutions.first().copied() else { return Ok(()) };
        let resolutions = resolutions.to_vec();
        let job = move |txn: &_| {
            let mut table = DEAD_LETTER_STATE.write(txn)?;
            for (id, resolution) in &resolutions {
                let key = key::of_letter(*id);
                let known: Option<Resolution> = DEAD_LETTER_STATE.get_in(&table, &key)?;
                let merged = known.map_or(*resolution, |known| known.merge(*resolution));
                if known != Some(merged) {
                    table.put(&key, &merged.to_value())?;
                }
            }
            Ok(())
        };
        self.write("resolve dead letters", || format!("dead_letter_state {first}"), job).await
    }

    async fn resolutions(
        &self,
        partition: u32,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<(LetterId, Resolution)>, StoreError> {
        if first > last {
            return Ok(Vec::new());
        }
        let range = [first, last].map(|offset| key::of_letter(LetterId { partition, offset }));
        let job = move |txn: &_| {
            let table = DEAD_LETTER_STATE.read(txn)?;
            let mut page = Vec::new();
            for row in table.range(range[0].as_slice()..=range[1].as_slice())?.take(limit) {
                let (key, value) = row?;
                let offset = DEAD_LETTER_STATE.part(&key, key::last_number)?;
                page.push((LetterId { partition, offset }, DEAD_LETTER_STATE.decode(&key, &value)?));
            }
            Ok(page)
        };
        self.read("read resolutions", || format!("dead_letter_state {partition}:{first}"), job).await
    }
}
