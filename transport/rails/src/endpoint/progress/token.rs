//! The numbers by which the poll set names sockets.

/// A socket, as a kind and a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the socket: each kind of link has some.
    pub kind: u8,
    /// The socket's key among those of its kind.
    pub at: usize,
}

impl Token {
    pub fn number(self) -> u64 {
        u64::from(self.kind) << 32 | self.at as u64
    }

    /// The inverse of [`Token::number`].
    pub fn of(number: u64) -> Token {
        Token { kind: (number >> 32) as u8, at: (number & u64::from(u32::MAX)) as usize }
    }
}
