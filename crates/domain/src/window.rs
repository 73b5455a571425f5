//! How long receipts are merged before they are written and told.

/// Members up to which a sender is told at once, with the readers added.
pub const SMALL_GROUP_MEMBERS: u64 = 500;
/// Members above which a conversation is large, for ever (names only on demand, unread on demand).
pub const LARGE_GROUP_MEMBERS: u64 = 5_000;

/// By the size of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Up to 500 members.
    Small,
    /// 501 to 5,000.
    Medium,
    /// Above.
    Large,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// The tier of a conversation with so many present members.
    #[must_use]
    pub const fn of(members: u64) -> Self {
        if members <= SMALL_GROUP_MEMBERS {
            Self::Small
        } else if members <= LARGE_GROUP_MEMBERS {
            Self::Medium
        } else {
            Self::Large
        }
    }

    /// How long a window stays open, in milliseconds: 20 is as good as at once for a person, and merges
    /// what arrives in one burst; a large group's sender can't follow more than an update every 2 s.
    #[must_use]
    pub const fn window_ms(self) -> u64 {
        match self {
            Self::Small => 20,
            Self::Medium => 1_000,
            Self::Large => 2_000,
        }
    }

    /// Are the readers added named in a message_read? Above 500 members the list would outgrow the news.
    #[must_use]
    pub const fn names_readers(self) -> bool {
        match self {
            Self::Small => true,
            Self::Medium | Self::Large => false,
        }
    }

    /// The tier of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == name)
    }

    /// Its name, as in labels of metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// Partial tallies are told for so many newest messages of a conversation; complete ones always.
pub const TOLD_NEWEST_MESSAGES: u64 = 1_000;

/// Is a tally told to the sender?
#[must_use]
pub const fn is_told(seq: crate::id::Seq, head: crate::id::Seq, all_read: bool) -> bool {
    all_read || seq.get() + TOLD_NEWEST_MESSAGES > head.get()
}

#[cfg(test)]
mod tests {
    use super::{Tier, is_told};
    use crate::id::Seq;

    #[test]
    fn the_size_of_a_group_decides() {
        for (members, tier, window_ms, names) in [
            (0, Tier::Small, 20, true),
            (500, Tier::Small, 20, true),
            (501, Tier::Medium, 1_000, false),
            (5_000, Tier::Medium, 1_000, false),
            (5_001, Tier::Large, 2_000, false),
            (u64::MAX, Tier::Large, 2_000, false),
        ] {
            let of = Tier::of(members);
            assert_eq!((of, of.window_ms(), of.names_readers()), (tier, window_ms, names), "{members}");
            assert_eq!(Tier::named(of.as_str()), Some(of));
        }
    }

    #[test]
    fn partial_tallies_are_told_of_the_newest_thousand() {
        let told = |seq, head, all| is_told(Seq::new(seq).unwrap(), Seq::new(head).unwrap(), all);
        assert!(told(1, 1_000, false), "1…1000 are a thousand");
        assert!(!told(1, 1_001, false));
        assert!(told(2, 1_001, false));
        assert!(told(1, 1_001, true), "R21: the last reader of an old message");
        assert!(told(5, 3, false), "a head that lags");
    }
}
