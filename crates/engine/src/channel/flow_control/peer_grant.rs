//! The receiver's side of flow control: what a peer is granted, and what it has used of that.

use super::MESSAGE_CHARGE;

/// The receiver's side: what the peer has used of this endpoint's grant.
#[derive(Debug)]
pub struct PeerGrant {
    first: u64,
    grant: u64,
    reserve: u64,
    /// Charged for messages with their payload. Apart, as RTS frames overtake them on other rails.
    held_eager: u64,
    held: u64,
    /// Bytes of early data that have overtaken the RTS of their message, with which they will be charged.
    early_unannounced: u64,
    /// Of what is held: bytes beyond the grant that were requested. What is released counts against them first.
    requested: u64,
    /// Bytes released, and growth of the grant, since the start.
    freed: u64,
    /// Credit granted beside the first grant: the same, less what counted against requested bytes.
    credited: u64,
    advertised: u64,
    /// The last advertisement may be lost: a subchannel has failed, and pure acknowledgements are not retransmitted.
    is_advertisement_lost: bool,
    relinquished: u64,
    /// `freed` when [`PeerGrant::is_in_use`] was last true.
    freed_at_last_check: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl PeerGrant {
    /// For a peer that is granted `grant` bytes, and `reserve` more for RTS frames.
    pub fn new(grant: u64, reserve: u64) -> Self {
        let (held_eager, held, early_unannounced, requested, freed) = (0, 0, 0, 0, 0);
        let (credited, advertised, relinquished, freed_at_last_check) = (0, 0, 0, 0);
        let is_advertisement_lost = false;
        PeerGrant {
            first: grant,
            grant,
            reserve,
            held_eager,
            held,
            early_unannounced,
            requested,
            freed,
            credited,
            advertised,
            is_advertisement_lost,
            relinquished,
            freed_at_last_check,
        }
    }

    /// Bytes of messages that the peer may leave here at present.
    pub fn bytes(&self) -> u64 {
        self.grant
    }

    /// Bytes that RTS frames may take beyond the grant.
    pub fn reserve(&self) -> u64 {
        self.reserve
    }

    /// The same from now on.
    pub fn set_reserve(&mut self, reserve: u64) {
        self.reserve = reserve;
    }

    /// Bytes beyond the grant that are held, or on their way, as they were requested.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// The first grant, in bytes.
    pub fn first_grant(&self) -> u64 {
        self.first
    }

    // What is released and not yet advertised cannot have been used by the peer, but to enforce that would need another
    // counter: the bound on memory is what matters, and it holds.

    /// Charges an eager message, or an RTS with its early data.
    pub fn charge_eager(&mut self, charge: u64) -> Result<(), OverGrant> {
        let most = self.grant + self.requested;
        if self.held_eager + charge > most || self.held + charge > most + self.reserve {
            return Err(OverGrant);
        }
        self.held_eager += charge;
        self.held += charge;
        Ok(())
    }

    /// The message that was charged last is looked at again.
    pub fn undo_charge(&mut self, charge: u64) {
        self.held_eager -= charge;
        self.held -= charge;
    }

    /// Charges a piece of `len` bytes of early data that has come before its RTS.
    pub fn charge_early_data(&mut self, len: u64) -> Result<(), OverGrant> {
        if self.held_eager + self.early_unannounced + len > self.grant + self.requested {
            return Err(OverGrant);
        }
        self.early_unannounced += len;
        Ok(())
    }

    /// The RTS of such pieces, `len` bytes in all, has come, or they were lost.
    pub fn early_data_announced(&mut self, len: u64) {
        self.early_unannounced -= len;
    }

    /// Charges an RTS without early data.
    pub fn charge_request(&mut self) -> Result<(), OverGrant> {
        if self.held + MESSAGE_CHARGE > self.grant + self.requested + self.reserve {
            return Err(OverGrant);
        }
        self.held += MESSAGE_CHARGE;
        Ok(())
    }

    /// A message of `charge` bytes has matched a receive.
    pub fn release_eager(&mut self, charge: u64) {
        let good = charge.min(self.requested);
        self.held_eager -= charge;
        self.held -= charge;
        self.freed += charge;
        self.requested -= good;
        self.credited += charge - good;
    }

    /// An RTS without early data has matched a receive.
    pub fn release_request(&mut self) {
        self.held -= MESSAGE_CHARGE;
        self.freed += MESSAGE_CHARGE;
        self.credited += MESSAGE_CHARGE;
    }

    /// Bytes of early data that can be [requested](PeerGrant::request) now.
    pub fn requestable(&self) -> u64 {
        self.max_requested().saturating_sub(self.requested + MESSAGE_CHARGE)
    }

    /// Bytes of early data that are requested at a time, at most.
    pub fn max_requested(&self) -> u64 {
        self.grant / 2
    }

    /// `len` bytes of early data of an announced message are requested.
    pub fn request(&mut self, len: u64) {
        self.release_request();
        let charge = len + MESSAGE_CHARGE;
        self.requested += charge;
        self.held += charge;
        self.held_eager += charge;
    }

    /// Whether the peer has used a good part of its grant since this was last true: a larger one may help.
    pub fn is_in_use(&mut self) -> bool {
        let in_use = self.freed - self.freed_at_last_check >= self.grant / 4;
        if in_use {
            self.freed_at_last_check = self.freed;
        }
        in_use
    }

    /// The peer is granted `more` bytes.
    pub fn grow(&mut self, more: u64) {
        self.grant += more;
        self.freed += more;
        self.credited += more;
    }

    /// The peer has returned `total` bytes of its grant since the start. How many of these are new.
    pub fn relinquished(&mut self, total: u64) -> Result<u64, OverGrant> {
        let news = total.saturating_sub(self.relinquished);
        if news > self.grant - self.first || self.held_eager + news > self.grant + self.requested {
            return Err(OverGrant);
        }
        self.relinquished += news;
        self.grant -= news;
        Ok(news)
    }

    /// Whether credit should be advertised at once, without waiting for a frame to carry it.
    pub fn should_advertise(&self) -> bool {
        self.is_advertisement_lost || self.credited - self.advertised >= (self.grant / 4).max(1)
    }

    /// The last advertisement may be lost.
    pub fn advertisement_lost(&mut self) {
        self.is_advertisement_lost = self.credited > 0;
    }

    /// Whether the peer is blocked for lack of credit that is released but not advertised.
    pub fn blocks_peer(&self) -> bool {
        debug_assert!(self.held >= self.requested, "what is requested is held for the peer");
        let next = self.held.saturating_sub(self.requested) + MESSAGE_CHARGE;
        let unadvertised = self.credited - self.advertised;
        [self.grant, self.grant + self.reserve].iter().any(|most| next <= *most && *most < next + unadvertised)
    }

    /// The credit to put into the header of a frame.
    pub fn advertise(&mut self) -> u32 {
        self.advertised = self.credited;
        self.is_advertisement_lost = false;
        self.credited as u32
    }
}
