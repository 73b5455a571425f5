//! The store under test beside [`MemoryStore`]: the same calls, the same answers.

use super::operation::Generator;
use super::subject::Subject;
use crate::memory::MemoryStore;
use std::sync::Arc;

/// Operations between two comparisons.
const STEP: usize = 50;

/// Makes `operations` random calls on the subject and on a [`MemoryStore`] and compares all their answers
/// every 50 calls. Where the clock can be turned, time passes and messages expire.
///
/// # Panics
/// At the first answer that differs, with the seed and the calls that led there.
pub async fn differential(s: Subject, seed: u64, operations: usize) {
    let clock = Arc::clone(&s.clock);
    let memory = MemoryStore::new(Arc::new(move || clock.now()));
    let mut generator = Generator::new(&s, seed, s.clock.is_manual());
    let mut done = Vec::new();
    while done.len() < operations {
        for _ in 0..STEP {
            let operation = generator.operation();
            operation.apply(&*s.store).await;
            operation.apply(&memory).await;
            done.push(operation);
        }
        if s.clock.is_manual() {
            s.clock.advance_ms(generator.below(3) * 17_000).await;
        }
        let page = usize::try_from(generator.below(12)).expect("small") + 1;
        let (tested, expected) =
            (generator.everything(&*s.store, page).await, generator.everything(&memory, page).await);
        for ((what, tested), (_, expected)) in tested.into_iter().zip(expected) {
            assert!(
                tested == expected,
                "seed {seed}, after {} operations, pages of {page}: {what}\n  tested: {tested}\nexpected: {expected}\nthe last operations: {:#?}",
                done.len(),
                &done[done.len() - STEP..],
            );
        }
    }
}
