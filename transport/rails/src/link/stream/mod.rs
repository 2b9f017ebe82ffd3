//! The byte stream of a link: the queue in front of its socket, the state behind it, and records where it is encrypted.

pub mod kernel_acks;
pub mod receive;
mod records;
pub mod transfer;
pub mod transmit;
pub mod unfinished;

use crate::encryption::Keys;

/// How changes of a stream on its way are detected.
pub enum Protection {
    /// By the kernel's checksums alone.
    Nothing,
    /// By checksums of frames.
    Checksums,
    /// By the tags of encrypted records.
    Encryption(Box<Keys>),
}

impl Protection {
    /// For a connection with these keys, if it is encrypted; `has_checksums`: whether both sides use them.
    pub fn of(keys: Option<Box<Keys>>, has_checksums: bool) -> Protection {
        match keys {
            Some(keys) => Protection::Encryption(keys),
            None if has_checksums => Protection::Checksums,
            None => Protection::Nothing,
        }
    }
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Some bytes came, and there are likely more.
    More,
    /// Some bytes came, and there are no more.
    Drained,
    /// The peer has shut the connection.
    End,
}

fn filled(got: usize, wanted: usize) -> Filled {
    match got {
        0 => Filled::End,
        got if got < wanted => Filled::Drained,
        _ => Filled::More,
    }
}
