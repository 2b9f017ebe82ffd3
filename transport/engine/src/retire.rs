//! The graceful shutdown of an additional subchannel while others are live: rules for every driver. One side stops sending over
//! the subchannel and sends LEAVE, and the other answers in the same way. Once all frames are acknowledged both ways, the side
//! that has set the subchannel up shuts it.

/// How far a subchannel has retired.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retirement {
    /// This side has sent LEAVE.
    pub leave_sent: bool,
    /// LEAVE has come from the peer.
    pub leave_received: bool,
    /// This side has shut it.
    pub is_shut: bool,
}

impl Retirement {
    /// Whether either side has sent LEAVE.
    pub fn has_begun(&self) -> bool {
        self.leave_sent || self.leave_received
    }

    /// Whether both sides have sent LEAVE.
    pub fn is_mutual(&self) -> bool {
        self.leave_sent && self.leave_received
    }

    /// LEAVE has come. False if the peer violates the protocol: the subchannel has to stay (it is not `additional`), or only this side
    /// may begin to retire it (it is its `own`).
    #[must_use]
    pub fn receive_leave(&mut self, additional: bool, own: bool) -> bool {
        self.leave_received = true;
        additional && (!own || self.leave_sent)
    }
}
