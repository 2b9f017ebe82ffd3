//! The progress of one subchannel. `channel/failures/` decides what follows from it.

use crate::time::{Instant, MaybeInstant};

#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    pub(in crate::channel) since: Instant,
    /// It was silent for too long: the peer is probed over all subchannels.
    pub(in crate::channel) is_suspect: bool,
    /// The peer has given up some subchannel, and this one has been silent: it gets no new traffic until the peer answers.
    pub is_quarantined: bool,
    /// A PING is to be sent over it.
    pub(in crate::channel) wants_probe: bool,
    /// Number of probes sent because the oldest frame was overdue.
    pub(in crate::channel) probes_sent: u8,
    pub(in crate::channel) fails_at: MaybeInstant,
    /// The driver knows of the failure.
    pub(in crate::channel) is_reported: bool,
}

impl Liveness {
    /// The time of its last progress. Means something only while frames are in flight.
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

    /// Sends no more probes.
    pub fn retire(&mut self) {
        self.wants_probe = false;
    }

    /// Something has been acknowledged or received.
    pub fn progress(&mut self, now: Instant) {
        self.begin(now);
        self.is_quarantined = false;
    }
}
