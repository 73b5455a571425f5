//! Users have names in the files and uids in readmark; seqs are written as lists and ranges. Scenarios share servers, so
//! that each has users and conversations of its own.

use std::collections::BTreeMap;

/// Uids of a scenario: more than any has users.
const UIDS: u64 = 1_000_000;

/// Names of a scenario, in the order of their first use.
#[derive(Debug)]
pub struct Names {
    /// Begins the ids of its conversations.
    prefix: String,
    first_uid: u64,
    uids: BTreeMap<String, u64>,
}

impl Names {
    /// Of a scenario; no other one has this number.
    pub fn of(id: &str, number: u64) -> Self {
        Self { prefix: format!("{id}-"), first_uid: UIDS * (number + 1), uids: BTreeMap::new() }
    }

    /// The uid of a name.
    pub fn uid(&mut self, name: &str) -> u64 {
        let next = self.first_uid + self.uids.len() as u64;
        *self.uids.entry(name.to_owned()).or_insert(next)
    }

    /// The id of a conversation.
    pub fn conversation(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Does a key, a uid or the id of a conversation, belong to this scenario?
    pub fn owns(&self, key: &str) -> bool {
        match key.parse::<u64>() {
            Ok(uid) => (self.first_uid..self.first_uid + UIDS).contains(&uid),
            Err(_) => key.starts_with(&self.prefix),
        }
    }

    /// Uids of a list such as `s, a, m[1-50]`.
    pub fn uids(&mut self, list: &str) -> Vec<u64> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut uids = Vec::new();
        for name in names {
            match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                None => uids.push(self.uid(name)),
                Some((stem, range)) => {
                    uids.extend(seqs(range).into_iter().map(|n| self.uid(&format!("{stem}{n}"))))
                }
            }
        }
        uids
    }

    /// Text with `{name}` replaced by the name's uid, `{#c}` by the id of the conversation c and `{now}` by the time
    /// in milliseconds. Other braces stay, so that JSON can be written plainly.
    pub fn fill(&mut self, text: &str, now_ms: u64) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let name = rest.strip_prefix('#').unwrap_or(rest);
            let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
            let is_conversation = rest.starts_with('#');
            let end = name.len() + usize::from(is_conversation);
            if !name.is_empty() && rest[end..].starts_with('}') {
                let value = match name {
                    _ if is_conversation => self.conversation(name),
                    "now" => now_ms.to_string(),
                    _ => self.uid(name).to_string(),
                };
                filled.push_str(&value);
                rest = &rest[end + 1..];
            } else {
                filled.push('{');
            }
        }
        filled + rest
    }
}

/// Seqs of a list such as `9, 3, 10-20`, in the order written.
pub fn seqs(list: &str) -> Vec<u64> {
    let number =
        |text: &str| text.trim().parse::<u64>().unwrap_or_else(|e| panic!("{text:?} in {list:?}: {e}"));
    let parts = list.split(',').filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| match part.split_once('-') {
            None => number(part)..=number(part),
            Some((from, to)) => number(from)..=number(to),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_texts() {
        let mut names = Names::of("R2", 6);
        let uid = |n: u64| 7_000_000 + n;
        assert_eq!(names.uids("s, m[1-3],s"), [0, 1, 2, 3, 0].map(uid));
        assert_eq!(seqs("9, 3,10-12"), [9, 3, 10, 11, 12]);
        let filled = names.fill(r#"{"uid":"{m2}","id":"{#c}","at":{now},"x":{},"y":{#}}"#, 7);
        assert_eq!(filled, r#"{"uid":"7000002","id":"R2-c","at":7,"x":{},"y":{#}}"#);
        assert!(names.owns("7999999") && names.owns("R2-c1"));
        assert!(!names.owns("8000000") && !names.owns("R20-c1"));
    }
}
