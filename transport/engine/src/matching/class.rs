//! Classes of patterns: the patterns of a class ignore the same bits. Within a class, only patterns of one hash can accept a
//! message.

use super::chains::hash;
use crate::ids::VcId;
use crate::request::{Pattern, Space};

/// The bits that a pattern ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Bits of the tag.
    ignore: u64,
    /// All bits of the source, or none.
    any_source: u32,
}

impl Class {
    /// The class of all patterns: every message has one hash.
    pub const ANY: Class = Class { ignore: u64::MAX, any_source: u32::MAX };

    #[inline]
    pub fn of(pattern: &Pattern) -> Class {
        let ignore = match pattern.space {
            Space::Message => 0,
            Space::Tagged { ignore, .. } => ignore,
        };
        Class { ignore, any_source: if pattern.source.is_some() { 0 } else { u32::MAX } }
    }

    /// The hash of a message in this class; its tag is 0 if it is untagged. Ignored bits count as ones, and no source is all ones: so
    /// patterns of different classes rarely share a hash.
    #[inline]
    pub fn hash(self, source: VcId, tag: u64) -> u32 {
        // An odd number that differs from the multiplier of tags: the fraction of the square root of 2.
        let source = (source.0 | self.any_source).wrapping_mul(0x6a09_e667);
        hash(tag | self.ignore).wrapping_add(source)
    }

    /// The hash of the messages that a pattern of this class accepts.
    #[inline]
    pub fn hash_of(self, pattern: &Pattern) -> u32 {
        let tag = match pattern.space {
            Space::Message => 0,
            Space::Tagged { tag, .. } => tag,
        };
        self.hash(pattern.source.unwrap_or(VcId(0)), tag)
    }
}
