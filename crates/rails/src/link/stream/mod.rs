//! The byte stream of a link: the queue in front of its socket, the state behind it, and records where it is encrypted.

pub mod kernel_acks;
pub mod receive;
mod records;
pub mod transfer;
pub mod transmit;

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Some bytes came; more are likely there.
    More,
    /// Some bytes came, and that was all.
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
