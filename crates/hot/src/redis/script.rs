//! The scripts: their texts, put together from `lua/`, and the names the server knows them by.

use readmark_domain::hot::{SEQS_MAX, STREAM_ENTRIES, TALLIES_MAX};

/// One script.
#[derive(Debug)]
pub(super) struct Script {
    pub text: String,
    /// SHA-1 of the text.
    pub hash: String,
}

impl Script {
    fn new(parts: &[&str]) -> Self {
        let text = parts.concat();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Scripts {
    pub apply: Script,
    pub apply_tally: Script,
    pub entries: Script,
    pub picture: Script,
    pub touch: Script,
    pub begin_rebuild: Script,
    pub complete_rebuild: Script,
    pub forget: Script,
}

impl Scripts {
    /// For one server, or for a cluster, whose channels have slots.
    pub fn new(is_cluster: bool) -> Self {
        let publish = if is_cluster { "SPUBLISH" } else { "PUBLISH" };
        let limits = format!(
            "local STREAM_ENTRIES, SEQS_MAX, TALLIES_MAX = {STREAM_ENTRIES}, {SEQS_MAX}, {TALLIES_MAX}\n\
             local PUBLISH = '{publish}'\n"
        );
        let keys = include_str!("lua/keys.lua");
        let only_states = include_str!("lua/only_states.lua");
        let user = include_str!("lua/user.lua");
        let registers = include_str!("lua/registers.lua");
        let of_any_user = |body| Script::new(&[&limits, keys, user, body]);
        let of_user = |body| Script::new(&[&limits, keys, only_states, user, body]);
        let of_registers = |body| Script::new(&[&limits, keys, only_states, user, registers, body]);
        Self {
            apply: of_registers(include_str!("lua/apply.lua")),
            apply_tally: of_user(include_str!("lua/apply_tally.lua")),
            entries: of_user(include_str!("lua/entries.lua")),
            picture: of_user(include_str!("lua/picture.lua")),
            touch: of_user(include_str!("lua/touch.lua")),
            begin_rebuild: of_any_user(include_str!("lua/begin_rebuild.lua")),
            complete_rebuild: of_registers(include_str!("lua/complete_rebuild.lua")),
            forget: of_any_user(include_str!("lua/forget.lua")),
        }
    }
}
