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
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
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
