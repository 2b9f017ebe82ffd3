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

impl Token {
    /// Its number.
    pub(in crate::endpoint) fn number(self) -> u64 {
        let (kind, at) = match self {
            Token::Listener(at) => (0, at),
            Token::Link(at) => (1, at),
            Token::Attempt(at) => (2, at),
            Token::Incoming(at) => (3, at),
            Token::Datagrams(at) => (4, at),
            Token::SharedListener => (5, 0),
            Token::Arriving(at) => (6, at),
            Token::Offered(at) => (7, at),
            Token::Shared(at) => (8, at),
        };
        kind << 32 | at as u64
    }

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
