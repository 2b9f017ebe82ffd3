//! A link over a provider, with the interface of all links.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fishplate_engine::wire::Header;
use fishplate_engine::{Payload, RailId, Source, SubchannelId, Transmit};
use fishplate_link_core::{BounceBuffers, Common, Ending, Link, Places};

use crate::Rail;

/// A rail, which its links share.
pub type SharedRail = Arc<Mutex<Rail>>;

/// Locks the rail. (Never waits: an endpoint is used by one thread at a time.)
pub fn lock(rail: &SharedRail) -> MutexGuard<'_, Rail> {
    rail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A link that is up.
pub struct OfiLink {
    /// State that links of all kinds have.
    pub common: Common,
    /// Its rail.
    pub rail: SharedRail,
    /// Its key in the rail.
    pub at: usize,
}

impl OfiLink {
    /// `number`: of the rail in the counters.
    pub fn new(rail: SharedRail, at: usize, subchannel: SubchannelId, number: RailId) -> OfiLink {
        OfiLink { common: Common::new(subchannel, number), rail, at }
    }

    /// Whether the peer has sent a goodbye, and all payloads are in place.
    pub fn has_ended(&self) -> bool {
        self.common.goodbye_received && !lock(&self.rail).has_pending(self.at)
    }
}

impl Link for OfiLink {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn ending(&self) -> Ending {
        Ending::of(&self.common, lock(&self.rail).has_pending(self.at))
    }

    fn has_waiting(&self) -> bool {
        lock(&self.rail).has_waiting(self.at)
    }

    fn has_lent(&self, payload: &Payload) -> bool {
        lock(&self.rail).has_lent(self.at, payload)
    }

    fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        lock(&self.rail).detach(self.at, ended, places)
    }

    /// Remote reads cannot be cancelled: this waits for their end.
    fn discard(&mut self, bounces: &mut BounceBuffers) {
        lock(&self.rail).end_reads(self.at, bounces);
    }

    fn recover(&self, _: u32, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn send_goodbye(&mut self, bye: &Header, places: Places<'_>) {
        let (subchannel, source) = (self.common.subchannel, Source::User(Payload::EMPTY));
        let frame = Transmit { subchannel, header: *bye, source, copy: false };
        lock(&self.rail).push(self.at, &frame, places);
    }
}
