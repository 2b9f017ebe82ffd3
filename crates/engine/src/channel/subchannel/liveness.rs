//! The progress of one subchannel. What follows from it is decided in `channel/failures/`.

use crate::time::Instant;

/// What is known of the progress of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    pub(in crate::channel) since: Instant,
    /// The peer has been asked over all subchannels.
    pub(in crate::channel) is_suspect: bool,
    /// The peer has given up a subchannel, and nothing has come over this one for a while.
    pub is_quarantined: bool,
    /// The peer is to be asked over this one.
    pub(in crate::channel) wants_probe: bool,
    /// How often it was for the sake of the oldest frame.
    pub(in crate::channel) probes_sent: u8,
    pub(in crate::channel) fails_at: Option<Instant>,
    /// The driver has been told that it has failed.
    pub(in crate::channel) is_reported: bool,
}

impl Liveness {
    /// There is something to acknowledge only now.
    pub fn begin(&mut self, now: Instant) {
        self.since = now;
        self.is_suspect = false;
        self.fails_at = None;
    }

    /// Another frame is the oldest one that is not acknowledged.
    pub fn oldest_changed(&mut self) {
        self.probes_sent = 0;
    }

    /// The peer is not asked over this one any more.
    pub fn retire(&mut self) {
        self.wants_probe = false;
    }

    /// Something has been acknowledged or has come.
    pub fn progress(&mut self, now: Instant) {
        self.begin(now);
        self.is_quarantined = false;
    }
}
