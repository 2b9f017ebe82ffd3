//! Guests: peers that the user has not named. Anybody who knows this endpoint's secret can make any number of them, so that all
//! guests together have bounds for the memory that they take here, within the bounds of all peers.

use std::collections::BTreeMap;

use super::{Engine, FIRST_GRANT_PART, ProtocolViolation};
use crate::channel::State;
use crate::channel::flow_control::{MESSAGE_CHARGE, OverGrant, PeerGrant};
use crate::channel::scheduler::atomics::ATOMIC_WINDOW;
use crate::ids::VcId;
use crate::limits::{FIRST_GUEST_ATOMICS, GUESTS_ANNOUNCED, GUESTS_ATOMICS, GUESTS_PART, MIN_GRANT, MIN_GUEST_GRANT};

/// Messages that a guest may announce beyond its grant at first. The number doubles whenever it is used up, within
/// [`GUESTS_ANNOUNCED`].
const FIRST_ANNOUNCED: u64 = 64;

/// Memory granted to all guests together.
#[derive(Debug, Default)]
pub struct Guests {
    /// Bytes granted to guests, and of kept messages of lost guests.
    granted: u64,
    /// Bytes that they may announce beyond that.
    reserve: u64,
    /// Windows of their atomic operations, in bytes.
    atomics: u64,
    /// Bytes of kept messages of each lost guest, by channel.
    kept: BTreeMap<u32, u64>,
}

impl Engine {
    /// A virtual channel to a new peer that the user has not named.
    pub fn open_guest(&mut self) -> VcId {
        let left = self.left_for_guests();
        let grant = self.config.grant.min((left / FIRST_GRANT_PART).max(MIN_GUEST_GRANT));
        let vc = self.add_channel(grant, false);
        self.guests.granted += grant;
        self.guests.reserve += FIRST_ANNOUNCED * MESSAGE_CHARGE;
        let channel = &mut self.vcs[vc.0 as usize];
        channel.is_guest = true;
        channel.peer_grant.set_reserve(FIRST_ANNOUNCED * MESSAGE_CHARGE);
        vc
    }

    /// The user has named the peer of `vc`, which is no guest any more.
    pub fn name_guest(&mut self, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.state != State::Open || !std::mem::take(&mut channel.is_guest) {
            return;
        }
        let (grant, reserve) = (channel.peer_grant.bytes(), channel.peer_grant.reserve());
        self.guests.granted -= grant;
        self.guests.reserve -= reserve;
        self.guests.atomics -= channel.remote.as_ref().map_or(0, |remote| remote.incoming_atomics.window());
        channel.peer_grant.set_reserve(self.config.max_announced * MESSAGE_CHARGE);
        let left = self.config.memory.saturating_sub(self.granted);
        let more = self.config.grant.min((left / FIRST_GRANT_PART).max(MIN_GRANT)).saturating_sub(grant);
        channel.peer_grant.grow(more);
        self.granted += more;
        self.make_ready(vc);
    }

    /// Bytes that guests may still be granted.
    pub(super) fn left_for_guests(&self) -> u64 {
        (self.config.memory / GUESTS_PART).saturating_sub(self.guests.granted)
    }

    /// The grant of the peer of `vc` grows by `more` bytes, or shrinks by `fewer`.
    pub(super) fn count_granted(&mut self, vc: VcId, more: u64, fewer: u64) {
        let change = |granted: &mut u64| *granted = (*granted + more).saturating_sub(fewer);
        change(&mut self.granted);
        if self.vcs[vc.0 as usize].is_guest {
            change(&mut self.guests.granted);
        }
    }

    /// Charges a peer. A guest whose announcements are used up may announce more, as long as all guests together have some left.
    #[inline]
    pub(super) fn charge(
        &mut self,
        vc: VcId,
        charge: impl Fn(&mut PeerGrant) -> Result<(), OverGrant>,
    ) -> Result<(), ProtocolViolation> {
        while charge(&mut self.vcs[vc.0 as usize].peer_grant).is_err() {
            if !self.may_announce_more(vc) {
                return Err(ProtocolViolation::Grant);
            }
        }
        Ok(())
    }

    #[cold]
    fn may_announce_more(&mut self, vc: VcId) -> bool {
        let channel = &mut self.vcs[vc.0 as usize];
        let reserve = channel.peer_grant.reserve();
        let of_all = (GUESTS_ANNOUNCED * MESSAGE_CHARGE).saturating_sub(self.guests.reserve);
        let of_one = (self.config.max_announced * MESSAGE_CHARGE).saturating_sub(reserve);
        let more = if channel.is_guest { reserve.min(of_all).min(of_one) } else { 0 };
        channel.peer_grant.set_reserve(reserve + more);
        self.guests.reserve += more;
        more > 0
    }

    /// The peer of `vc` has used up the window of its atomic operations. True if the window could be widened: for a guest within
    /// [`GUESTS_ATOMICS`].
    #[cold]
    pub(super) fn may_have_more_atomics(&mut self, vc: VcId) -> bool {
        let channel = &mut self.vcs[vc.0 as usize];
        let (is_guest, atomics) = (channel.is_guest, &mut channel.remote().incoming_atomics);
        let left = ATOMIC_WINDOW - atomics.window();
        let more = match is_guest {
            false => left,
            true => atomics.window().max(FIRST_GUEST_ATOMICS).min(left),
        };
        if more == 0 || (is_guest && self.guests.atomics + more > GUESTS_ATOMICS) {
            return false;
        }
        atomics.widen(more);
        self.guests.atomics += if is_guest { more } else { 0 };
        true
    }

    /// The peer of `vc` is lost, and with it its atomic operations, whose window was `atomics`. Messages of a guest that can still
    /// be received count until they are.
    pub(super) fn count_lost(&mut self, vc: VcId, atomics: u64) {
        let channel = &self.vcs[vc.0 as usize];
        let (is_guest, granted, reserve) = (channel.is_guest, channel.peer_grant.bytes(), channel.peer_grant.reserve());
        if !is_guest {
            self.granted -= granted;
            return;
        }
        self.guests.atomics -= atomics;
        let kept: u64 = self.unmatched.values().filter(|message| message.vc == vc).map(|message| message.charge).sum();
        if kept > 0 {
            self.guests.kept.insert(vc.0, kept);
        }
        self.count_granted(vc, kept, granted);
        self.guests.reserve -= reserve;
    }

    /// `charge` bytes of a lost guest are not kept any more.
    #[cold]
    pub(super) fn release_kept(&mut self, vc: VcId, charge: u64) {
        let Some(kept) = self.guests.kept.get_mut(&vc.0) else { return };
        let released = charge.min(*kept);
        *kept -= released;
        if *kept == 0 {
            self.guests.kept.remove(&vc.0);
        }
        self.count_granted(vc, 0, released);
    }
}
