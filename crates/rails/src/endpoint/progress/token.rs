//! The numbers by which the poll set names what has become ready.

/// What a number in the poll set stands for.
pub(in crate::endpoint) enum Token {
    Listener(usize),
    Link(usize),
    Attempt(usize),
    Incoming(usize),
    Datagrams(usize),
    /// Where memory to share is brought.
    SharedListener,
    Arriving(usize),
    Offered(usize),
    Shared(usize),
}

pub(in crate::endpoint) fn listener_token(at: usize) -> u64 {
    at as u64
}

pub(in crate::endpoint) fn link_token(at: usize) -> u64 {
    1 << 32 | at as u64
}

pub(in crate::endpoint) fn attempt_token(at: usize) -> u64 {
    2 << 32 | at as u64
}

pub(in crate::endpoint) fn incoming_token(at: usize) -> u64 {
    3 << 32 | at as u64
}

pub(in crate::endpoint) fn datagrams_token(at: usize) -> u64 {
    4 << 32 | at as u64
}

pub(in crate::endpoint) fn shared_listener_token() -> u64 {
    5 << 32
}

pub(in crate::endpoint) fn arriving_token(at: usize) -> u64 {
    6 << 32 | at as u64
}

pub(in crate::endpoint) fn offered_token(at: usize) -> u64 {
    7 << 32 | at as u64
}

pub(in crate::endpoint) fn shared_token(at: usize) -> u64 {
    8 << 32 | at as u64
}

impl Token {
    pub(in crate::endpoint) fn of(number: u64) -> Token {
        let at = (number & u64::from(u32::MAX)) as usize;
        match number >> 32 {
            0 => Token::Listener(at),
            1 => Token::Link(at),
            2 => Token::Attempt(at),
            3 => Token::Incoming(at),
            4 => Token::Datagrams(at),
            5 => Token::SharedListener,
            6 => Token::Arriving(at),
            7 => Token::Offered(at),
            _ => Token::Shared(at),
        }
    }
}
