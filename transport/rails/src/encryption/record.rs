//! Records: pieces of a connection's bytes, each encrypted, with an authentication tag.
//!
//! A record is the length of its content (2 bytes, authenticated), the encrypted content, and the tag (16 bytes). Its nonce is its
//! number in its direction, which is not sent: a record that is left out, repeated or moved does not open.

use std::io;

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Longest content of a record, in bytes: it fits into the innermost cache, and the overhead of a record is small against it.
pub const MAX_CONTENT: usize = 16 << 10;
const LENGTH_LEN: usize = 2;
const TAG_LEN: usize = 16;
/// Longest record, in bytes.
pub const MAX_RECORD: usize = LENGTH_LEN + MAX_CONTENT + TAG_LEN;

/// Why received bytes are no record of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A length that no record has.
    #[error("an encrypted record claims to hold {0} bytes, which none does")]
    Length(u16),
    /// The tag does not fit.
    #[error("an encrypted record was changed on its way: its tag does not fit")]
    Tag,
}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, broken)
    }
}

/// The sending side of one connection.
#[derive(Debug)]
pub struct Sealing {
    key: LessSafeKey,
    records: u64,
}

impl Sealing {
    pub(super) fn new(key: UnboundKey) -> Self {
        Sealing { key: LessSafeKey::new(key), records: 0 }
    }

    /// Appends a record to `out`. `fill` appends its content: 1 to [`MAX_CONTENT`] bytes.
    pub fn seal(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_LEN]);
        fill(out);
        let content = start + LENGTH_LEN;
        let len = out.len() - content;
        assert!((1..=MAX_CONTENT).contains(&len));
        let length = (len as u16).to_le_bytes();
        out[start..content].copy_from_slice(&length);
        let nonce = number(&mut self.records);
        match self.key.seal_in_place_separate_tag(nonce, Aad::from(length), &mut out[content..]) {
            Ok(tag) => out.extend_from_slice(tag.as_ref()),
            Err(_) => unreachable!("content is far shorter than the cipher's limit"),
        }
    }
}

/// A record that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its length, in bytes.
    pub record_len: usize,
    /// Length of its content, in bytes.
    pub content_len: usize,
}

/// The receiving side of one connection.
#[derive(Debug)]
pub struct Opening {
    key: LessSafeKey,
    records: u64,
}

impl Opening {
    pub(super) fn new(key: UnboundKey) -> Self {
        Opening { key: LessSafeKey::new(key), records: 0 }
    }

    /// Opens the record that begins at `bytes[gap..]` and moves its content to the front of `bytes`. `None`: it is not whole
    /// yet.
    pub fn open(&mut self, bytes: &mut [u8], gap: usize) -> Result<Option<Opened>, Broken> {
        let Some(length) = bytes.get(gap..).and_then(|record| record.first_chunk::<LENGTH_LEN>().copied()) else {
            return Ok(None);
        };
        let content_len = usize::from(u16::from_le_bytes(length));
        if !(1..=MAX_CONTENT).contains(&content_len) {
            return Err(Broken::Length(content_len as u16));
        }
        let record_len = LENGTH_LEN + content_len + TAG_LEN;
        let Some(bytes) = bytes.get_mut(..gap + record_len) else { return Ok(None) };
        let nonce = number(&mut self.records);
        let opened = self.key.open_within(nonce, Aad::from(length), bytes, gap + LENGTH_LEN..);
        opened.map(|content| Some(Opened { record_len, content_len: content.len() })).map_err(|_| Broken::Tag)
    }
}

/// The nonce of the next record. 2^64 records take centuries. A month at 100 Gbit/s, 2^51 blocks of the cipher under one key,
/// gives an attacker who sees all of it a chance of 2^-27 to tell it from random bytes: keys are not renewed for that.
fn number(records: &mut u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&records.to_be_bytes());
    *records += 1;
    Nonce::assume_unique_for_key(nonce)
}
