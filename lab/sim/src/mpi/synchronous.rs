//! Synchronous sends: the receiver answers the message by an empty message with a separate tag.

/// Tag bit of answers, which no tag of a program has.
pub const ANSWER: u64 = 1 << 62;

/// The asking rank, in the immediate data of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub rank: u32,
    /// Which of its synchronous sends.
    pub number: u32,
}

impl Asked {
    /// As immediate data.
    pub fn data(self) -> u64 {
        u64::from(self.rank) << 32 | u64::from(self.number)
    }

    /// From immediate data.
    pub fn of(data: u64) -> Asked {
        Asked { rank: (data >> 32) as u32, number: data as u32 }
    }

    /// The tag of the answer.
    pub fn tag(self) -> u64 {
        ANSWER | u64::from(self.number)
    }
}
