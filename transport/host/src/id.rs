//! The identity of a host.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The identity of a host: equal for processes of one host, and for no others. In text it is a number of 16 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u64);

impl HostId {
    /// How many bytes it has.
    pub const LEN: usize = 8;

    /// Of identifying texts: FNV-1a of 64 bits (RFC 9923) over the texts, each with an end.
    pub(super) fn of(texts: &[&str]) -> HostId {
        let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // In files 0 is none.
        HostId(hash.max(1))
    }

    /// As files have it.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Of a number in a file; `None`: 0, of a file that does not tell.
    pub fn of_number(number: u64) -> Option<HostId> {
        (number != 0).then_some(HostId(number))
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for HostId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<HostId, D::Error> {
        let text = String::deserialize(from)?;
        let number = u64::from_str_radix(&text, 16).ok().and_then(HostId::of_number);
        number.ok_or_else(|| de::Error::custom(format_args!("\"{text}\" is no identity of a host")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_ends() {
        assert_ne!(HostId::of(&["a", "bc"]), HostId::of(&["ab", "c"]));
        // The check value of FNV-1a for "a", with the end's step after it.
        let of_a: u64 = 0xaf63_dc4c_8601_ec8c;
        assert_eq!(HostId::of(&["a"]).number(), of_a.wrapping_mul(0x0000_0100_0000_01b3));
    }

    #[test]
    fn records_have_it_as_text() {
        let id = HostId::of_number(0xabc).unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"0000000000000abc\"");
        assert_eq!(serde_json::from_str::<HostId>("\"0000000000000abc\"").unwrap(), id);
        for wrong in ["\"\"", "\"0000000000000000\"", "\"node\"", "7"] {
            assert!(serde_json::from_str::<HostId>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(HostId::of_number(0), None);
    }
}
