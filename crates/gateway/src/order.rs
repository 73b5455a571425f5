use readmark_domain::id::Uid;
use readmark_domain::time::TimeMs;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Users whose last order is remembered one by one.
const MAX_USERS: usize = 100_000;

/// Gives each call of a user a time of its own: the clock, but never the same or an earlier one twice, so that
/// of two calls of one user the later wins.
#[derive(Default)]
pub(crate) struct UserOrders {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: HashMap<Uid, TimeMs>,
    /// No user that was forgotten has had a later time than this.
    forgotten: TimeMs,
}

impl UserOrders {
    pub fn next(&self, uid: Uid, now: TimeMs) -> TimeMs {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.len() >= MAX_USERS && !state.last.contains_key(&uid) {
            let latest = state.last.values().copied().max().unwrap_or_default();
            state.forgotten = state.forgotten.max(latest);
            state.last.clear();
        }
        let before = state.last.get(&uid).copied().unwrap_or(state.forgotten);
        let next = now.max(before.plus_ms(1));
        state.last.insert(uid, next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> TimeMs {
        TimeMs::saturating(ms)
    }

    #[test]
    fn a_user_never_gets_a_time_twice() {
        let orders = UserOrders::default();
        let uid = Uid::new(7).expect("a uid");
        let times = [1_000, 1_000, 1_000, 990, 1_010].map(|now| orders.next(uid, at(now)).get());
        assert_eq!(times, [1_000, 1_001, 1_002, 1_003, 1_010]);
    }

    #[test]
    fn not_even_when_it_was_forgotten() {
        let orders = UserOrders::default();
        let uid = |n| Uid::new(n).expect("a uid");
        let first = orders.next(uid(0), at(5_000));
        for n in 1..=MAX_USERS as u64 {
            orders.next(uid(n), at(1_000));
        }
        assert!(
            !orders.state.lock().expect("not poisoned").last.contains_key(&uid(0)),
            "user 0 was forgotten"
        );
        assert!(orders.next(uid(0), at(1_000)) > first);
    }
}
