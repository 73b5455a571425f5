//! Names of keys. All of one user have its hash tag, so that they lie in one slot of a cluster.

use readmark_domain::id::Uid;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// How many keys a script gets.
pub(super) const KEYS: usize = 6;

/// The names that this installation gives.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    fn name(&self, uid: Uid, what: &str) -> String {
        format!("{}:{{{uid}}}:{what}", self.prefix)
    }

    /// Those of a user, in the order that `lua/user.lua` names them in.
    pub fn of(&self, uid: Uid) -> [String; KEYS] {
        ["user", "conversations", "stream", "tallies", "tally-order", "wake"].map(|what| self.name(uid, what))
    }

    /// The channel that wakes who watches the user.
    pub fn wake(&self, uid: Uid) -> String {
        self.name(uid, "wake")
    }

    /// Whose channel it is.
    pub fn uid_of_wake(&self, channel: &[u8]) -> Option<Uid> {
        self.uid_of(channel, "}:wake")
    }

    /// Whose record it is.
    pub fn uid_of_user(&self, key: &[u8]) -> Option<Uid> {
        self.uid_of(key, "}:user")
    }

    fn uid_of(&self, name: &[u8], end: &str) -> Option<Uid> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix(&self.prefix)?;
        name.strip_prefix(":{")?.strip_suffix(end)?.parse().ok()
    }

    /// What the keys of users' records look like, for walking over them.
    pub fn user_pattern(&self) -> String {
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\' | '^');
        let mut pattern = String::new();
        for c in self.prefix.chars() {
            if special(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern + ":{*}:user"
    }

    /// The slot of a user in a cluster.
    pub fn slot(uid: Uid) -> u16 {
        crc16::State::<crc16::XMODEM>::calculate(uid.to_string().as_bytes()) % SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use readmark_domain::id::Uid;
    use redis::cluster_routing::Slot;

    #[test]
    fn all_keys_of_a_user_are_in_its_slot() {
        let keys = Keys::new("a*b");
        let uid = Uid::new(42).unwrap();
        for key in keys.of(uid) {
            assert!(key.starts_with("a*b:{42}:"), "{key}");
            assert_eq!(Some(Slot::for_key(&key)), Slot::new(Keys::slot(uid)));
        }
        assert_eq!(keys.uid_of_wake(keys.wake(uid).as_bytes()), Some(uid));
        assert_eq!(keys.uid_of_wake(b"a*b:{42}:user"), None);
        assert_eq!(keys.uid_of_user(b"a*b:{42}:user"), Some(uid));
        assert_eq!(keys.user_pattern(), "a\\*b:{*}:user");
    }
}
