//! The part of MessagePack that the scripts' `cmsgpack` speaks and we need: numbers, bytes, flags, arrays.

/// Longest array and deepest nesting taken from a server: far above what scripts write.
const ITEMS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 4;

/// Writes one value.
#[derive(Debug, Default)]
pub(super) struct Packer(Vec<u8>);

impl Packer {
    pub fn array(&mut self, len: usize) -> &mut Self {
        match u8::try_from(len) {
            Ok(len) if len < 16 => self.0.push(0x90 | len),
            Ok(_) | Err(_) => self.marked(0xdd, &u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes()),
        }
        self
    }

    pub fn number(&mut self, n: u64) -> &mut Self {
        if n < 0x80 {
            self.0.extend_from_slice(&n.to_be_bytes()[7..]);
        } else if let Ok(n) = u16::try_from(n) {
            self.marked(0xcd, &n.to_be_bytes());
        } else if let Ok(n) = u32::try_from(n) {
            self.marked(0xce, &n.to_be_bytes());
        } else {
            self.marked(0xcf, &n.to_be_bytes());
        }
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        match u8::try_from(bytes.len()) {
            Ok(len) if len < 32 => self.0.push(0xa0 | len),
            Ok(_) | Err(_) => {
                self.marked(0xdb, &u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            }
        }
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn flag(&mut self, flag: bool) -> &mut Self {
        self.0.push(if flag { 0xc3 } else { 0xc2 });
        self
    }

    pub fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) -> &mut Self {
        self.array(numbers.len());
        for n in numbers {
            self.number(n);
        }
        self
    }

    fn marked(&mut self, mark: u8, bytes: &[u8]) {
        self.0.push(mark);
        self.0.extend_from_slice(bytes);
    }

    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// A value read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Packed {
    Number(u64),
    Bytes(Vec<u8>),
    Flag(bool),
    Array(Vec<Packed>),
}

impl Packed {
    /// Reads one value that takes all the bytes; `None` when they are no such value.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let value = Self::take(&mut bytes, 0)?;
        bytes.is_empty().then_some(value)
    }

    fn take(bytes: &mut &[u8], depth: usize) -> Option<Self> {
        let mark = take_bytes(bytes, 1)?[0];
        let value = match mark {
            0x00..=0x7f => Self::Number(u64::from(mark)),
            0xcc => Self::Number(take_number(bytes, 1)?),
            0xcd => Self::Number(take_number(bytes, 2)?),
            0xce => Self::Number(take_number(bytes, 4)?),
            0xcf => Self::Number(take_number(bytes, 8)?),
            0xc2 => Self::Flag(false),
            0xc3 => Self::Flag(true),
            0xa0..=0xbf => Self::Bytes(take_bytes(bytes, usize::from(mark & 0x1f))?.to_vec()),
            0xd9..=0xdb => {
                let len = take_number(bytes, 1 << (mark - 0xd9))?;
                Self::Bytes(take_bytes(bytes, usize::try_from(len).ok()?)?.to_vec())
            }
            0x90..=0x9f => Self::items(bytes, u64::from(mark & 0x0f), depth)?,
            0xdc..=0xdd => {
                let len = take_number(bytes, 2 << (mark - 0xdc))?;
                Self::items(bytes, len, depth)?
            }
            _ => return None,
        };
        Some(value)
    }

    fn items(bytes: &mut &[u8], len: u64, depth: usize) -> Option<Self> {
        let len = usize::try_from(len).ok().filter(|len| *len <= ITEMS_MAX && depth < DEPTH_MAX)?;
        (0..len).map(|_| Self::take(bytes, depth + 1)).collect::<Option<_>>().map(Self::Array)
    }

    pub fn number(&self) -> Option<u64> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    pub fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    pub fn bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        self.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    pub fn array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }
}

fn take_bytes<'b>(bytes: &mut &'b [u8], len: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

fn take_number(bytes: &mut &[u8], len: usize) -> Option<u64> {
    Some(take_bytes(bytes, len)?.iter().fold(0, |n, byte| (n << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::{Packed, Packer};

    #[test]
    fn what_is_packed_is_read() {
        for n in [0, 1, 127, 128, 255, 256, 65_535, 65_536, 1 << 32, 1_000_000_000_000_000, u64::MAX] {
            assert_eq!(Packed::read(&Packer::default().number(n).finish()), Some(Packed::Number(n)));
        }
        for len in [0, 1, 31, 32, 255, 256, 70_000] {
            let bytes = vec![7; len];
            assert_eq!(Packed::read(&Packer::default().bytes(&bytes).finish()), Some(Packed::Bytes(bytes)));
            let numbers: Vec<u64> = (0..len as u64).collect();
            let packed = Packer::default().numbers(numbers.iter().copied()).finish();
            let read = Packed::read(&packed).unwrap();
            assert_eq!(read.array().unwrap().iter().filter_map(Packed::number).collect::<Vec<_>>(), numbers);
        }
        assert_eq!(Packed::read(&Packer::default().flag(true).finish()), Some(Packed::Flag(true)));
    }

    #[test]
    fn what_is_no_value_is_none() {
        for bytes in [
            &b""[..],
            b"\x92\x01",
            b"\xa5abc",
            b"\xcf\x01",
            b"\x01\x01",
            b"\xc1",
            b"\xdd\xff\xff\xff\xff",
            b"\x91\x91\x91\x91\x91\x01",
        ] {
            assert_eq!(Packed::read(bytes), None, "{bytes:?}");
        }
    }
}
