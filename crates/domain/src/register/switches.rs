//! Switches of receipts: of a user (on or off) and of a conversation (full, count or off).
//!
//! They are kept as a grow-only set, because "since when" must be known, not only "what now":
//! who switches on again counts from then, so that nothing read in private ever shows.

use crate::time::{Order, TimeMs};
use serde::{Deserialize, Serialize};

/// What a switch can be set to.
pub trait SwitchValue: Copy + Ord + std::fmt::Debug {
    /// Does it allow receipts?
    fn allows(self) -> bool;
}

/// `true`: receipts on.
impl SwitchValue for bool {
    fn allows(self) -> bool {
        self
    }
}

/// What a conversation's policy allows.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptsMode {
    /// N/M and names.
    #[default]
    Full,
    /// N/M without names.
    Count,
    /// Nothing.
    Off,
}

impl ReceiptsMode {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Count => "count",
            Self::Off => "off",
        }
    }
}

impl SwitchValue for ReceiptsMode {
    fn allows(self) -> bool {
        match self {
            Self::Full | Self::Count => true,
            Self::Off => false,
        }
    }
}

/// One switch: what it was set to, when, and its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Switch<V> {
    /// Which switch is the later one.
    pub order: Order,
    /// When it happened.
    pub occurred_at: TimeMs,
    /// What it was set to.
    pub value: V,
}

impl<V: SwitchValue> Switch<V> {
    /// At a tie of orders the forbidding switch is the later one; then the greater value.
    fn key(&self) -> (Order, bool, V, TimeMs) {
        (self.order, !self.value.allows(), self.value, self.occurred_at)
    }
}

/// A grow-only set of switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SwitchSet<V>(Vec<Switch<V>>);

/// The switches of a user.
pub type UserSwitches = SwitchSet<bool>;
/// The switches of a conversation.
pub type PolicySwitches = SwitchSet<ReceiptsMode>;

impl<V> Default for SwitchSet<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: SwitchValue + Deserialize<'de>> Deserialize<'de> for SwitchSet<V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Switch<V>>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl<V: SwitchValue> FromIterator<Switch<V>> for SwitchSet<V> {
    fn from_iter<I: IntoIterator<Item = Switch<V>>>(switches: I) -> Self {
        let mut set = Self::default();
        for switch in switches {
            set.add(switch);
        }
        set
    }
}

impl<V: SwitchValue> SwitchSet<V> {
    /// Adds one; says whether it was new.
    pub fn add(&mut self, switch: Switch<V>) -> bool {
        match self.0.binary_search_by_key(&switch.key(), Switch::key) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, switch);
                true
            }
        }
    }

    /// The union; says whether anything was new.
    pub fn merge(&mut self, other: &Self) -> bool {
        other.0.iter().fold(false, |grew, switch| self.add(*switch) | grew)
    }

    /// Every switch, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Switch<V>> {
        self.0.iter()
    }

    /// No switch at all: the default is in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is every switch of `other` here?
    #[must_use]
    pub fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|switch| self.0.binary_search_by_key(&switch.key(), Switch::key).is_ok())
    }

    /// What is in force, `default` when nothing was ever switched (a switch of order −1).
    #[must_use]
    pub fn in_force(&self, default: V) -> V {
        self.0.last().map_or(default, |switch| switch.value)
    }

    /// Since when receipts are allowed; `None` while they are not.
    ///
    /// The greatest `occurred_at` among the first allowing switch after the last forbidding one and all
    /// forbidding ones. The default is a switch of order −1 that occurred at 0.
    #[must_use]
    pub fn since(&self, default: V) -> Option<TimeMs> {
        let Some(last_off) = self.0.iter().rposition(|switch| !switch.value.allows()) else {
            let first_on = if default.allows() { Some(TimeMs::ZERO) } else { None };
            return first_on.or_else(|| self.0.first().map(|switch| switch.occurred_at));
        };
        let first_on = self.0.get(last_off + 1)?.occurred_at;
        self.newest_off().map(|off| off.max(first_on))
    }

    /// When receipts were last switched off, by the clock of the facts: a receipt of a message sent before
    /// it can never count.
    #[must_use]
    pub fn newest_off(&self) -> Option<TimeMs> {
        self.0.iter().filter(|switch| !switch.value.allows()).map(|switch| switch.occurred_at).max()
    }

    /// What these switches add to a tally's stamp: the sum of (order + 1).
    #[must_use]
    pub fn stamp(&self) -> u128 {
        self.0.iter().map(|switch| u128::from(switch.order.get()) + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{PolicySwitches, ReceiptsMode, Switch, SwitchSet, SwitchValue, UserSwitches};
    use crate::time::{Order, TimeMs};
    use ReceiptsMode::{Count, Full, Off};

    fn switch<V>(order: u64, at: u64, value: V) -> Switch<V> {
        Switch { order: Order::new(order).unwrap(), occurred_at: TimeMs::new(at).unwrap(), value }
    }

    /// Since when, the same in every order of adding.
    fn since<V: SwitchValue>(switches: &[(u64, u64, V)], default: V) -> Option<u64> {
        let set: SwitchSet<V> =
            switches.iter().map(|(order, at, value)| switch(*order, *at, *value)).collect();
        let turned: SwitchSet<V> =
            switches.iter().rev().map(|(order, at, value)| switch(*order, *at, *value)).collect();
        assert_eq!(set, turned);
        set.since(default).map(TimeMs::get)
    }

    #[test]
    fn since_when_a_user_allows_receipts() {
        for (name, switches, wanted) in [
            ("never switched", &[][..], Some(0)),
            ("off", &[(10, 10, false)], None),
            ("R6: off, on: counts from on", &[(10, 10, false), (20, 20, true)], Some(20)),
            ("R18: on repeated by a resync", &[(10, 10, true), (20, 20, true)], Some(0)),
            ("R18: repeated after off and on", &[(10, 10, false), (20, 20, true), (30, 30, true)], Some(20)),
            ("off, on, off", &[(10, 10, false), (20, 20, true), (30, 30, false)], None),
            ("a tie forbids", &[(10, 10, true), (10, 10, false)], None),
            (
                "R32: on happened before off by its clock",
                &[(1_000, 1_000, false), (1_001, 991, true)],
                Some(1_000),
            ),
            ("an older off happened later", &[(5, 500, false), (6, 6, false), (7, 7, true)], Some(500)),
        ] {
            assert_eq!(since(switches, true), wanted, "{name}");
        }
    }

    #[test]
    fn since_when_a_conversation_allows_receipts() {
        for (name, default, switches, wanted) in [
            ("no policy, default full", Full, &[][..], Some(0)),
            ("no policy, default off", Off, &[], None),
            ("default off, then full", Off, &[(10, 10, Full)], Some(10)),
            ("default off, full twice", Off, &[(10, 10, Full), (20, 20, Full)], Some(10)),
            ("R7: off, full", Full, &[(10, 10, Off), (20, 20, Full)], Some(20)),
            ("R18: full, count loses nobody", Full, &[(10, 10, Full), (20, 20, Count)], Some(0)),
            ("off wins a tie with both", Full, &[(10, 10, Off), (10, 10, Full), (10, 10, Count)], None),
        ] {
            assert_eq!(since(switches, default), wanted, "{name}");
        }
    }

    #[test]
    fn the_greatest_order_is_in_force() {
        let policy: PolicySwitches = [switch(20, 20, Count), switch(10, 30, Full)].into_iter().collect();
        assert_eq!(policy.in_force(Off), Count);
        assert_eq!(PolicySwitches::default().in_force(Off), Off);
        let tie: PolicySwitches = [switch(10, 10, Count), switch(10, 10, Full)].into_iter().collect();
        assert_eq!(tie.in_force(Full), Count, "the stricter of two allowing ones");
    }

    /// A receipt may be dropped exactly when it can't count whatever is switched later.
    #[test]
    fn nothing_sent_before_the_newest_off_ever_counts() {
        let set: UserSwitches = [switch(5, 500, false), switch(6, 6, false)].into_iter().collect();
        assert_eq!(set.newest_off().map(TimeMs::get), Some(500));
        let mut on_again = set;
        on_again.add(switch(7, 7, true));
        assert!(on_again.since(true) >= on_again.newest_off());
        assert_eq!(UserSwitches::default().newest_off(), None);
    }

    #[test]
    fn every_new_switch_raises_the_stamp_and_a_known_one_does_not() {
        let mut set = UserSwitches::default();
        let mut stamp = set.stamp();
        for new in [switch(0, 0, true), switch(0, 0, false), switch(0, 1, true), switch(9, 9, true)] {
            assert!(set.add(new));
            assert!(set.stamp() > stamp, "{new:?}");
            stamp = set.stamp();
            assert!(!set.add(new));
            assert_eq!(set.stamp(), stamp);
        }
        let copy = set.clone();
        assert!(!set.merge(&copy) && set.contains_all(&copy));
    }

    #[test]
    fn switches_from_outside_are_put_in_order() {
        let json = r#"[{"order":"20","occurred_at":"20","value":true},{"order":"10","occurred_at":"10","value":false}]"#;
        let set: UserSwitches = serde_json::from_str(json).unwrap();
        assert_eq!(set, [switch(10, 10, false), switch(20, 20, true)].into_iter().collect());
        assert_eq!(set.since(true).map(TimeMs::get), Some(20));
    }
}
