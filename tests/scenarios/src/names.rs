//! Users have names in the files and uids in readmark; seqs are written as lists and ranges.

use std::collections::BTreeMap;

/// The uid of the first name.
const FIRST_UID: u64 = 101;

/// Names of a scenario, in the order of their first use.
#[derive(Debug, Default)]
pub struct Names {
    uids: BTreeMap<String, u64>,
}

impl Names {
    /// The uid of a name.
    pub fn uid(&mut self, name: &str) -> u64 {
        let next = FIRST_UID + self.uids.len() as u64;
        *self.uids.entry(name.to_owned()).or_insert(next)
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

    /// Text with `{name}` replaced by the name's uid and `{now}` by the time in milliseconds. Other braces
    /// stay, so that JSON can be written plainly.
    pub fn fill(&mut self, text: &str, now_ms: u64) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if end > 0 && rest[end..].starts_with('}') {
                let name = &rest[..end];
                let value = if name == "now" { now_ms } else { self.uid(name) };
                filled.push_str(&value.to_string());
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
        let mut names = Names::default();
        assert_eq!(names.uids("s, m[1-3],s"), [101, 102, 103, 104, 101]);
        assert_eq!(seqs("9, 3,10-12"), [9, 3, 10, 11, 12]);
        assert_eq!(names.fill(r#"{"uid":"{m2}","at":{now},"x":{}}"#, 7), r#"{"uid":"103","at":7,"x":{}}"#);
    }
}
