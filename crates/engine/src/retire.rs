//! How a subchannel is let go that was set up while others carried: the rules that any driver has to keep. Either side stops
//! sending over it and says so (LEAVE), so does the other. Once everything is acknowledged both ways, the side that has set
//! it up shuts it.

/// How far a subchannel is let go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retirement {
    /// This side has said that nothing new comes.
    pub leave_sent: bool,
    /// The peer has.
    pub leave_received: bool,
    /// This side has shut it.
    pub is_shut: bool,
}

impl Retirement {
    /// Whether either side wants to let it go.
    pub fn has_begun(&self) -> bool {
        self.leave_sent || self.leave_received
    }

    /// Whether both do.
    pub fn is_mutual(&self) -> bool {
        self.leave_sent && self.leave_received
    }

    /// The peer lets it go. False: it must not, as the subchannel has to stay (it is not `additional`), or it is this side's
    /// own to let go.
    #[must_use]
    pub fn receive_leave(&mut self, additional: bool, own: bool) -> bool {
        self.leave_received = true;
        additional && (!own || self.leave_sent)
    }
}
