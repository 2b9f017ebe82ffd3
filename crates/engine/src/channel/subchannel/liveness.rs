//! The progress of one subchannel. What follows from it is decided in `channel/failures/`.

use crate::time::{Instant, MaybeInstant};

/// What is known of the progress of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    pub(in crate::channel) since: Instant,
    /// It was silent for too long, and the peer is probed over all subchannels.
    pub(in crate::channel) is_suspect: bool,
    /// The peer has given up some subchannel, and this one has been silent: it gets no new traffic until the peer answers.
    pub is_quarantined: bool,
    /// A probe (PING) is to be sent over this one.
    pub(in crate::channel) wants_probe: bool,
    /// Probes that were sent as the oldest frame was overdue.
    pub(in crate::channel) probes_sent: u8,
    pub(in crate::channel) fails_at: MaybeInstant,
    /// The driver has been told of the failure.
    pub(in crate::channel) is_reported: bool,
}

impl Liveness {
    /// Since when it makes no progress, while frames are in flight.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// The first frame in flight: silence counts from now.
    pub fn begin(&mut self, now: Instant) {
        self.since = now;
        self.is_suspect = false;
        self.fails_at = None.into();
    }

    /// Another frame is the oldest one that is not acknowledged.
    pub fn oldest_changed(&mut self) {
        self.probes_sent = 0;
    }

    /// No more probes over this one.
    pub fn retire(&mut self) {
        self.wants_probe = false;
    }

    /// Something has been acknowledged or received.
    pub fn progress(&mut self, now: Instant) {
        self.begin(now);
        self.is_quarantined = false;
    }
}
