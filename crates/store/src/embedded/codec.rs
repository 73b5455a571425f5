//! The bytes of values: a version, then numbers as LEB128 varints.

use readmark_domain::id::{Seq, Uid};
use readmark_domain::time::{Order, TimeMs};

/// Version of every value written. Another one is from a newer program.
const VERSION: u8 = 1;

/// Bytes of the longest varint of 64 bits.
const VARINT_BYTES_MAX: usize = 10;

/// Writes a value.
pub(super) struct Encoder(Vec<u8>);

impl Encoder {
    /// With room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes + 1);
        out.push(VERSION);
        Self(out)
    }

    pub fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    pub fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    /// Its length, then the text; no text and an empty one are the same, since no id is empty.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Zero for `None`.
    pub fn optional(&mut self, n: Option<u64>) {
        self.number(n.map_or(0, |n| n + 1));
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Why a value can't be decoded.
pub(super) type Fault = &'static str;

/// Reads a value.
pub(super) struct Decoder<'v>(&'v [u8]);

impl<'v> Decoder<'v> {
    pub fn new(value: &'v [u8]) -> Result<Self, Fault> {
        match value.split_first() {
            Some((&VERSION, rest)) => Ok(Self(rest)),
            Some(_) => Err("the value is of another version"),
            None => Err("the value is empty"),
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.0.split_first().ok_or("the value is cut short")?;
        self.0 = rest;
        Ok(*byte)
    }

    pub fn number(&mut self) -> Result<u64, Fault> {
        let mut n = 0_u64;
        for at in 0..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            n |= bits
                .checked_shl(7 * at as u32)
                .filter(|moved| moved >> (7 * at) == bits)
                .ok_or("a number is too large")?;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err("a number is too long")
    }

    pub fn flag(&mut self) -> Result<bool, Fault> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("a flag is neither 0 nor 1"),
        }
    }

    pub fn text(&mut self) -> Result<&'v str, Fault> {
        let bytes = usize::try_from(self.number()?).map_err(|_| "a text is too long")?;
        let (text, rest) = self.0.split_at_checked(bytes).ok_or("the value is cut short")?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")
    }

    pub fn optional(&mut self) -> Result<Option<u64>, Fault> {
        Ok(self.number()?.checked_sub(1))
    }

    pub fn seq(&mut self) -> Result<Seq, Fault> {
        Seq::new_or_zero(self.number()?).map_err(|_| "a seq is out of range")
    }

    pub fn uid(&mut self) -> Result<Uid, Fault> {
        Uid::new(self.number()?).map_err(|_| "a uid is out of range")
    }

    pub fn time(&mut self) -> Result<TimeMs, Fault> {
        TimeMs::new(self.number()?).map_err(|_| "a time is out of range")
    }

    pub fn order(&mut self) -> Result<Order, Fault> {
        Order::new(self.number()?).map_err(|_| "an order is out of range")
    }

    pub const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing may be left over.
    pub fn finish(self) -> Result<(), Fault> {
        if self.is_at_end() { Ok(()) } else { Err("the value is too long") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u64; 10] =
        [0, 1, 127, 128, 16_383, 16_384, u32::MAX as u64, i64::MAX as u64, u64::MAX - 1, u64::MAX];

    #[test]
    fn numbers_come_back() {
        for n in NUMBERS {
            let mut out = Encoder::with_capacity(10);
            out.number(n);
            let value = out.finish();
            assert!(value.len() <= 1 + VARINT_BYTES_MAX, "{n} takes {} bytes", value.len());
            let mut input = Decoder::new(&value).unwrap();
            assert_eq!(input.number(), Ok(n));
            assert_eq!(input.finish(), Ok(()));
        }
    }

    #[test]
    fn texts_flags_and_optionals_come_back() {
        let mut out = Encoder::with_capacity(0);
        out.text("");
        out.text("phone 🦀");
        out.flag(true);
        out.optional(None);
        out.optional(Some(0));
        let value = out.finish();
        let mut input = Decoder::new(&value).unwrap();
        assert_eq!((input.text(), input.text(), input.flag()), (Ok(""), Ok("phone 🦀"), Ok(true)));
        assert_eq!((input.optional(), input.optional()), (Ok(None), Ok(Some(0))));
        assert_eq!(input.finish(), Ok(()));
    }

    #[test]
    fn every_cut_is_a_fault() {
        let mut out = Encoder::with_capacity(0);
        out.number(u64::MAX);
        out.text("phone");
        let value = out.finish();
        for end in 0..value.len() {
            let read = Decoder::new(&value[..end]).and_then(|mut input| {
                input.number()?;
                input.text()?;
                input.finish()
            });
            assert!(read.is_err(), "cut at {end}");
        }
    }

    #[test]
    fn what_no_encoder_writes_is_a_fault() {
        assert!(Decoder::new(&[VERSION + 1, 0]).is_err(), "another version");
        let number =
            |bytes: &[u8]| Decoder::new(&[&[VERSION], bytes].concat()).and_then(|mut input| input.number());
        assert!(number(&[0xff; 11]).is_err(), "too long");
        assert!(number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).is_err(), "65 bits");
        assert!(Decoder::new(&[VERSION, 2]).unwrap().flag().is_err());
        assert!(Decoder::new(&[VERSION, 2, 0xc3, 0x28]).unwrap().text().is_err(), "no UTF-8");
        assert!(Decoder::new(&[VERSION, 0]).unwrap().finish().is_err(), "left over");
        let mut out = Encoder::with_capacity(0);
        out.number(Seq::MAX + 1);
        assert!(Decoder::new(&out.finish()).unwrap().seq().is_err(), "beyond the last seq");
    }
}
