//! Any bytes as a stream of frame headers.

use fishplate_engine::wire::{MAX_HEADER_LEN, Malformed, decode};

/// How inputs end.
pub const ENDS: &[&str] =
    &["cut short", "no such kind", "wrong flags", "wrong payload", "wrong refusal", "wrong atomic"];

/// Decodes headers until the bytes end or are none. What decodes must encode to an equal header.
pub fn run(mut bytes: &[u8]) -> &'static str {
    loop {
        match decode(bytes) {
            Ok(None) => {
                assert!(bytes.len() < MAX_HEADER_LEN, "a header is longer than any can be");
                return "cut short";
            }
            Ok(Some((header, len))) => {
                let mut again = [0; MAX_HEADER_LEN];
                assert_eq!(header.encode(&mut again), len);
                assert_eq!(decode(&again[..len]), Ok(Some((header, len))));
                bytes = &bytes[len..];
            }
            Err(Malformed::Kind(_)) => return "no such kind",
            Err(Malformed::Flags(_)) => return "wrong flags",
            Err(Malformed::Payload(_)) => return "wrong payload",
            Err(Malformed::Refusal(_)) => return "wrong refusal",
            Err(Malformed::Atomic(_)) => return "wrong atomic",
        }
    }
}
