//! The graceful shutdown of an additional subchannel, while others are live: the rules that any driver has to keep. A
//! side stops sending over it and sends LEAVE, and so does the other. Once everything is acknowledged both ways, the
//! side that has set it up shuts it.

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

    /// Whether both have.
    pub fn is_mutual(&self) -> bool {
        self.leave_sent && self.leave_received
    }

    /// LEAVE has come. False: the peer must not, as the subchannel has to stay (it is not `additional`), or it is this
    /// side's own to retire.
    #[must_use]
    pub fn receive_leave(&mut self, additional: bool, own: bool) -> bool {
        self.leave_received = true;
        additional && (!own || self.leave_sent)
    }
}
