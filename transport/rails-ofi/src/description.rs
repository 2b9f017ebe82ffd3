//! The description of an end of a link, which its peer is sent over a proven connection before the link is up.

use crate::record::LinkKey;

/// Longest name or address, in bytes.
const MAX_PART: usize = 512;
/// Longest description, in bytes.
const MAX_DESCRIPTION: usize = 4 + 8 + 1 + 3 * (2 + MAX_PART);

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The provider. Ends with equal provider and fabric can reach each other.
    pub provider: String,
    /// The provider's fabric: a network.
    pub fabric: String,
    /// Number of the endpoint among those of its provider and fabric. Ends with equal numbers pair.
    pub ordinal: u8,
    /// Address of the endpoint.
    pub(crate) address: Vec<u8>,
    /// This end's number of the link.
    pub(crate) link: u32,
    /// Secret that every record to this end has to carry.
    pub(crate) secret: u64,
}

impl Description {
    /// The key that records to this end begin with.
    pub(crate) fn key(&self) -> LinkKey {
        LinkKey { link: self.link, secret: self.secret }
    }

    /// For [`Description::part_received`] at the peer.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&self.link.to_le_bytes());
        out.extend_from_slice(&self.secret.to_le_bytes());
        out.push(self.ordinal);
        for part in [self.provider.as_bytes(), self.fabric.as_bytes(), &self.address] {
            let part = &part[..part.len().min(MAX_PART)];
            out.extend_from_slice(&(part.len() as u16).to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    /// `None`: `bytes` are no description.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Description> {
        let (link, rest) = bytes.split_first_chunk()?;
        let (secret, rest) = rest.split_first_chunk()?;
        let (ordinal, mut rest) = rest.split_first()?;
        let mut part = || {
            let (len, behind) = rest.split_first_chunk()?;
            let (part, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
            rest = behind;
            (part.len() <= MAX_PART).then(|| part.to_vec())
        };
        let (provider, fabric, address) = (part()?, part()?, part()?);
        rest.is_empty().then_some(Description {
            provider: String::from_utf8(provider).ok()?,
            fabric: String::from_utf8(fabric).ok()?,
            ordinal: *ordinal,
            address,
            link: u32::from_le_bytes(*link),
            secret: u64::from_le_bytes(*secret),
        })
    }

    /// A frame has come with a `part`, at `offset`, of a description of `total` bytes; bytes beyond its end do not count. `so_far`:
    /// the parts before. Returns the description once it is whole; an error says how the peer violates the protocol.
    pub fn part_received(
        so_far: &mut Vec<u8>,
        total: u16,
        offset: u16,
        part: &[u8],
    ) -> Result<Option<Description>, &'static str> {
        if offset == 0 {
            so_far.clear();
        }
        let (total, offset) = (usize::from(total), usize::from(offset));
        if offset != so_far.len() || offset >= total || total > MAX_DESCRIPTION {
            return Err("a description in parts that do not fit");
        }
        so_far.extend_from_slice(&part[..part.len().min(total - offset)]);
        if so_far.len() < total {
            return Ok(None);
        }
        Description::decode(&std::mem::take(so_far)).map(Some).ok_or("a description that is none")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_description_comes_in_parts_that_follow_each_other() {
        let description = Description {
            provider: "tcp".into(),
            fabric: "10.0.0.0/24".into(),
            ordinal: 1,
            address: vec![7; 40],
            link: 3,
            secret: 9,
        };
        let bytes = description.encode();
        let total = bytes.len() as u16;
        let (first, second) = bytes.split_at(48);
        let mut so_far = Vec::new();
        assert_eq!(Description::part_received(&mut so_far, total, 0, first), Ok(None));
        let padded = [second, &[0; 8]].concat();
        assert_eq!(Description::part_received(&mut so_far, total, 48, &padded), Ok(Some(description)));
        let does_not_fit = Err("a description in parts that do not fit");
        assert_eq!(
            Description::part_received(&mut so_far, total, 48, second),
            does_not_fit,
            "what is before is missing"
        );
        assert_eq!(Description::part_received(&mut so_far, u16::MAX, 0, first), does_not_fit, "it is too long");
        assert_eq!(Description::part_received(&mut so_far, 48, 0, first), Err("a description that is none"));
    }

    proptest! {
        #[test]
        fn encoding_round_trips(
            provider in "[a-z_;]{0,20}", fabric in "[a-z0-9/.]{0,40}", address in prop::collection::vec(any::<u8>(), 0..MAX_PART),
            link: u32, secret: u64, ordinal: u8,
        ) {
            let description = Description { provider, fabric, ordinal, address, link, secret };
            let bytes = description.encode();
            prop_assert!(bytes.len() <= MAX_DESCRIPTION);
            prop_assert_eq!(Description::decode(&bytes), Some(description));
            prop_assert_eq!(Description::decode(&bytes[1..]), None);
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = Description::decode(&bytes);
        }
    }
}
