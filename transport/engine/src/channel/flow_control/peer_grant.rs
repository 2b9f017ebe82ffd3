//! The receiver's side of flow control: the grant of a peer, and how much of it the peer has used.

use super::MESSAGE_CHARGE;

/// All fields are in bytes.
#[derive(Debug)]
pub struct PeerGrant {
    first: u64,
    grant: u64,
    reserve: u64,
    /// Charges of eager messages and early data, without RTS frames, which overtake these on other rails.
    charged_eager: u64,
    charged: u64,
    /// Bytes of early data that have overtaken the RTS of their message, with which they will be charged.
    early_unannounced: u64,
    /// Part of `charged` that was requested beyond the grant. Releases reduce it first.
    requested: u64,
    /// Bytes released, and growth of the grant, since the start.
    released: u64,
    /// Credit granted beside the first grant: `released`, less the releases that reduced `requested`.
    credited: u64,
    advertised: u64,
    /// The last advertisement may be lost: a subchannel has failed, and pure acknowledgements are not retransmitted.
    is_advertisement_lost: bool,
    relinquished: u64,
    /// `released` when [`PeerGrant::is_in_use`] was last true.
    released_at_last_check: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl PeerGrant {
    /// For a peer that is granted `grant` bytes, and `reserve` more for RTS frames.
    pub fn new(grant: u64, reserve: u64) -> Self {
        let (charged_eager, charged, early_unannounced, requested, released) = (0, 0, 0, 0, 0);
        let (credited, advertised, relinquished, released_at_last_check) = (0, 0, 0, 0);
        let is_advertisement_lost = false;
        PeerGrant {
            first: grant,
            grant,
            reserve,
            charged_eager,
            charged,
            early_unannounced,
            requested,
            released,
            credited,
            advertised,
            is_advertisement_lost,
            relinquished,
            released_at_last_check,
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

    pub fn set_reserve(&mut self, reserve: u64) {
        self.reserve = reserve;
    }

    /// Bytes of early data beyond the grant that were requested: they have come, or are on their way.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// The first grant, in bytes.
    pub fn first_grant(&self) -> u64 {
        self.first
    }

    // The peer cannot have used credit that is released and not advertised. That is not checked: it would take another counter,
    // and the bound on memory holds without it.

    /// Charges an eager message, or an RTS with its early data.
    pub fn charge_eager(&mut self, charge: u64) -> Result<(), OverGrant> {
        let most = self.grant + self.requested;
        if self.charged_eager + charge > most || self.charged + charge > most + self.reserve {
            return Err(OverGrant);
        }
        self.charged_eager += charge;
        self.charged += charge;
        Ok(())
    }

    /// Takes back the last charge: the message is about to be handled, and charged, in another way.
    pub fn undo_charge(&mut self, charge: u64) {
        self.charged_eager -= charge;
        self.charged -= charge;
    }

    /// Charges a piece of `len` bytes of early data that has come before its RTS.
    pub fn charge_early_data(&mut self, len: u64) -> Result<(), OverGrant> {
        if self.charged_eager + self.early_unannounced + len > self.grant + self.requested {
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
        if self.charged + MESSAGE_CHARGE > self.grant + self.requested + self.reserve {
            return Err(OverGrant);
        }
        self.charged += MESSAGE_CHARGE;
        Ok(())
    }

    /// A message of `charge` bytes has matched a receive.
    pub fn release_eager(&mut self, charge: u64) {
        let good = charge.min(self.requested);
        self.charged_eager -= charge;
        self.charged -= charge;
        self.released += charge;
        self.requested -= good;
        self.credited += charge - good;
    }

    /// An RTS without early data has matched a receive.
    pub fn release_request(&mut self) {
        self.charged -= MESSAGE_CHARGE;
        self.released += MESSAGE_CHARGE;
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
        self.charged += charge;
        self.charged_eager += charge;
    }

    /// Whether the peer has used a good part of its grant since this was last true: a larger one may help.
    pub fn is_in_use(&mut self) -> bool {
        let in_use = self.released - self.released_at_last_check >= self.grant / 4;
        if in_use {
            self.released_at_last_check = self.released;
        }
        in_use
    }

    /// Whether the grant has no room for a message of `len` bytes beside all that the peer has sent.
    pub fn is_short_of(&self, len: u64) -> bool {
        self.charged + len + MESSAGE_CHARGE > self.grant + self.requested
    }

    /// The peer is granted `more` bytes.
    pub fn grow(&mut self, more: u64) {
        self.grant += more;
        self.released += more;
        self.credited += more;
    }

    /// The peer has returned `total` bytes of its grant since the start. The result is how many of these are new.
    pub fn relinquished(&mut self, total: u64) -> Result<u64, OverGrant> {
        let news = total.saturating_sub(self.relinquished);
        if news > self.grant - self.first || self.charged_eager + news > self.grant + self.requested {
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
        debug_assert!(self.charged >= self.requested, "requests are charged for the peer");
        let next = self.charged.saturating_sub(self.requested) + MESSAGE_CHARGE;
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
