//! What a peer is told of a link before there is one, over a connection that both sides have proven.

/// Longest names and addresses that are taken, in bytes.
const MOST: usize = 512;
/// Longest description, in bytes.
pub const MOST_DESCRIPTION: usize = 4 + 8 + 1 + 3 * (2 + MOST);

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The provider. Ends of one provider and one fabric can reach each other.
    pub provider: String,
    /// The fabric.
    pub fabric: String,
    /// Which of the endpoints of that provider and fabric it is: the first of one side is for the first of the other.
    pub ordinal: u8,
    /// Where the endpoint is.
    pub address: Vec<u8>,
    /// How this end calls the link.
    pub link: u32,
    /// What all that comes over it has to begin with.
    pub secret: u64,
}

impl Description {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&self.link.to_le_bytes());
        out.extend_from_slice(&self.secret.to_le_bytes());
        out.push(self.ordinal);
        for part in [self.provider.as_bytes(), self.fabric.as_bytes(), &self.address] {
            let part = &part[..part.len().min(MOST)];
            out.extend_from_slice(&(part.len() as u16).to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    /// What such bytes say. `None`: they are none.
    pub fn decode(bytes: &[u8]) -> Option<Description> {
        let (link, rest) = bytes.split_first_chunk()?;
        let (secret, rest) = rest.split_first_chunk()?;
        let (ordinal, mut rest) = rest.split_first()?;
        let mut part = || {
            let (len, behind) = rest.split_first_chunk()?;
            let (part, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
            rest = behind;
            (part.len() <= MOST).then(|| part.to_vec())
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            provider in "[a-z_;]{0,20}", fabric in "[a-z0-9/.]{0,40}", address in prop::collection::vec(any::<u8>(), 0..MOST),
            link: u32, secret: u64, ordinal: u8,
        ) {
            let description = Description { provider, fabric, ordinal, address, link, secret };
            let bytes = description.encode();
            prop_assert!(bytes.len() <= MOST_DESCRIPTION);
            prop_assert_eq!(Description::decode(&bytes), Some(description));
            prop_assert_eq!(Description::decode(&bytes[1..]), None);
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = Description::decode(&bytes);
        }
    }
}
