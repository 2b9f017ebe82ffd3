//! Credit: how much of a peer's memory may be filled with messages that it has not asked for. Counted in bytes of
//! payload plus a fixed charge a message, cumulatively and modulo 2^32, so that news may come late, twice, or never.
//!
//! Payload stays within the grant. Announcements may go beyond it, by the *reserve*: they are small, and a receive may
//! wait for what comes behind messages that nothing has matched.

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes.
pub const MESSAGE_CHARGE: u64 = 128;

/// Most bytes that a peer may grant, so that cumulative counts stay within half of their circle.
pub const MAX_GRANT: u64 = 1 << 30;

/// The sender's side: credit granted by the peer.
#[derive(Debug)]
pub struct Credit {
    reserve: u64,
    used: u64,
    /// The first grant; what is above it is given back when it is not used.
    first: u64,
    /// All that may be used, counted from the start.
    limit: u64,
    /// How much of `limit` came in headers.
    advertised: u64,
    /// What was given back.
    relinquished: u64,
}

/// The peer grants more than it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCredit;

impl Credit {
    /// Nothing granted yet; announcements may go `reserve` bytes beyond what will be.
    pub fn new(reserve: u64) -> Self {
        Credit { reserve, used: 0, first: 0, limit: 0, advertised: 0, relinquished: 0 }
    }

    /// The peer lets this endpoint leave `grant` bytes with it, to start with. Every connection says the same.
    pub fn set_grant(&mut self, grant: u64) {
        let grant = grant.min(MAX_GRANT);
        self.limit += grant.saturating_sub(self.first);
        self.first = self.first.max(grant);
    }

    /// Whether a message of `len` bytes may go with its payload.
    pub fn allows_eager(&self, len: u64) -> bool {
        len + MESSAGE_CHARGE <= self.left()
    }

    /// Whether a message may be announced.
    pub fn allows_request(&self) -> bool {
        self.used + MESSAGE_CHARGE <= self.limit + self.reserve
    }

    /// Bytes of payload that a message may have ahead of its clearance.
    pub fn available_for_payload(&self) -> u64 {
        self.left().saturating_sub(MESSAGE_CHARGE)
    }

    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// `charge` bytes are sent.
    pub fn spend(&mut self, charge: u64) {
        self.used += charge;
    }

    /// Bytes used so far: tells whether any were used since.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The peer has given so much in all beside the first grant, modulo 2^32. True if that is news.
    pub fn update(&mut self, total: u32) -> Result<bool, BadCredit> {
        let news = total.wrapping_sub(self.advertised as u32);
        // Old news come from a slower subchannel: more than half the circle "ahead" is behind.
        if news == 0 || news > u32::MAX / 2 {
            return Ok(false);
        }
        let news = u64::from(news);
        if self.limit + news > self.used + MAX_GRANT {
            return Err(BadCredit);
        }
        self.advertised += news;
        self.limit += news;
        Ok(true)
    }

    /// Whether there is more than the first grant, unused.
    pub fn has_surplus(&self) -> bool {
        self.left() > self.first
    }

    /// Gives back what is unused of more than the first grant. How much was given back since the start.
    pub fn relinquish(&mut self) -> u64 {
        let surplus = self.left().saturating_sub(self.first);
        self.used += surplus;
        self.relinquished += surplus;
        self.relinquished
    }
}

/// The receiver's side: what the peer has used of this endpoint's grant.
#[derive(Debug)]
pub struct PeerGrant {
    first: u64,
    grant: u64,
    reserve: u64,
    /// By messages with their payload. Apart, as announcements overtake them on other rails.
    held_eager: u64,
    held: u64,
    /// Bytes of pieces that have overtaken the announcement of their message, which will be charged with them.
    early_unannounced: u64,
    /// Of what is held: bytes that were asked for, beyond the grant. What is freed makes good for them first.
    requested: u64,
    /// What was freed, and what the grant grew by.
    freed: u64,
    /// Given beside the first grant: the same, but for what made good for what was asked for.
    credited: u64,
    advertised: u64,
    /// The peer may not have heard of what it was told: a subchannel has ended, and acknowledgements do not go again.
    is_advertisement_lost: bool,
    relinquished: u64,
    /// `freed` when the grant was looked at last.
    freed_at_last_check: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl PeerGrant {
    /// For a peer that is granted `grant` bytes, and `reserve` more for announcements.
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

    /// Bytes beyond the grant that are held, or on their way, because they were asked for.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Bytes of messages that the peer might leave here at first.
    pub fn first_grant(&self) -> u64 {
        self.first
    }

    // What was freed and not yet told cannot have been used by the peer, but counting on that would need another
    // counter: the bound on memory is what matters, and it holds.

    /// A message of `charge` bytes has come with its payload, or is announced with payload that follows.
    pub fn charge_eager(&mut self, charge: u64) -> Result<(), OverGrant> {
        let most = self.grant + self.requested;
        if self.held_eager + charge > most || self.held + charge > most + self.reserve {
            return Err(OverGrant);
        }
        self.held_eager += charge;
        self.held += charge;
        Ok(())
    }

    /// A piece of `len` bytes has come before its message was announced.
    pub fn charge_early_data(&mut self, len: u64) -> Result<(), OverGrant> {
        if self.held_eager + self.early_unannounced + len > self.grant + self.requested {
            return Err(OverGrant);
        }
        self.early_unannounced += len;
        Ok(())
    }

    /// The message to which such pieces, `len` bytes in all, belong has been announced, or is forgotten.
    pub fn early_data_announced(&mut self, len: u64) {
        self.early_unannounced -= len;
    }

    /// A message has been announced.
    pub fn charge_request(&mut self) -> Result<(), OverGrant> {
        if self.held + MESSAGE_CHARGE > self.grant + self.requested + self.reserve {
            return Err(OverGrant);
        }
        self.held += MESSAGE_CHARGE;
        Ok(())
    }

    /// A message that came with its payload, `charge` bytes, has found its receive.
    pub fn release_eager(&mut self, charge: u64) {
        let good = charge.min(self.requested);
        self.held_eager -= charge;
        self.held -= charge;
        self.freed += charge;
        self.requested -= good;
        self.credited += charge - good;
    }

    /// An announced message has found its receive.
    pub fn release_request(&mut self) {
        self.held -= MESSAGE_CHARGE;
        self.freed += MESSAGE_CHARGE;
        self.credited += MESSAGE_CHARGE;
    }

    /// Bytes of announced messages that can be [requested](PeerGrant::request) for now, and at most: half of the grant.
    pub fn requestable(&self) -> (u64, u64) {
        let most = self.grant / 2;
        (most.saturating_sub(self.requested + MESSAGE_CHARGE), most)
    }

    /// `len` bytes of an announced message are asked for: it is one with payload that follows now.
    pub fn request(&mut self, len: u64) {
        self.release_request();
        let charge = len + MESSAGE_CHARGE;
        self.requested += charge;
        self.held += charge;
        self.held_eager += charge;
    }

    /// Whether the peer has used a good part of its grant since this was asked with success last: a larger one may help.
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

    /// The peer has given back `total` bytes of its grant since the start. How many of these are news.
    pub fn relinquished(&mut self, total: u64) -> Result<u64, OverGrant> {
        let news = total.saturating_sub(self.relinquished);
        if news > self.grant - self.first || self.held_eager + news > self.grant + self.requested {
            return Err(OverGrant);
        }
        self.relinquished += news;
        self.grant -= news;
        Ok(news)
    }

    /// Whether the peer should hear what it was given without waiting for a frame to carry the news.
    pub fn should_advertise(&self) -> bool {
        self.is_advertisement_lost || self.credited - self.advertised >= (self.grant / 4).max(1)
    }

    /// What the peer was told last may be lost.
    pub fn advertisement_lost(&mut self) {
        self.is_advertisement_lost = self.credited > 0;
    }

    /// Whether the peer, as far as it knows, can send no payload, or nothing at all, although by now it could.
    pub fn blocks_peer(&self) -> bool {
        let next = self.held.saturating_sub(self.requested) + MESSAGE_CHARGE;
        let unadvertised = self.credited - self.advertised;
        [self.grant, self.grant + self.reserve].iter().any(|most| next <= *most && *most < next + unadvertised)
    }

    /// What to put into the header of a frame.
    pub fn advertise(&mut self) -> u32 {
        self.advertised = self.credited;
        self.is_advertisement_lost = false;
        self.credited as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_used_and_comes_back_late_twice_and_around_the_circle() {
        let start = u64::from(u32::MAX);
        let mut credit = Credit { used: start, advertised: start, limit: start, ..Credit::new(0) };
        credit.set_grant(1000);
        credit.set_grant(1000);
        credit.spend(1000);
        assert!(!credit.allows_eager(0));
        assert_eq!(credit.update(499), Ok(true));
        assert!(credit.allows_eager(500 - MESSAGE_CHARGE) && !credit.allows_eager(501 - MESSAGE_CHARGE));
        assert_eq!(credit.update(499), Ok(false));
        assert_eq!(credit.update(u32::MAX), Ok(false));
        assert_eq!(credit.update(MAX_GRANT as u32), Err(BadCredit));
    }

    #[test]
    fn a_peer_cannot_leave_more_than_its_grant() {
        let mut peer_grant = PeerGrant::new(1000, 0);
        peer_grant.charge_eager(600).unwrap();
        assert_eq!(peer_grant.charge_eager(401), Err(OverGrant));
        peer_grant.charge_eager(400).unwrap();
        peer_grant.release_eager(600);
        assert!(peer_grant.should_advertise());
        assert_eq!(peer_grant.advertise(), 600);
        assert!(!peer_grant.should_advertise());
    }

    #[test]
    fn a_grant_grows_and_what_is_unused_comes_back() {
        let (mut credit, mut peer_grant) = (Credit::new(0), PeerGrant::new(1000, 0));
        credit.set_grant(1000);
        peer_grant.grow(500);
        credit.update(peer_grant.advertise()).unwrap();
        credit.spend(700);
        peer_grant.charge_eager(700).unwrap();
        assert!(!credit.has_surplus(), "800 are left");
        peer_grant.release_eager(700);
        credit.update(peer_grant.advertise()).unwrap();
        assert!(credit.has_surplus());
        let total = credit.relinquish();
        assert_eq!(peer_grant.relinquished(total), Ok(500));
        assert_eq!(peer_grant.relinquished(total), Ok(0), "told twice");
        assert_eq!((peer_grant.bytes(), credit.available_for_payload() + MESSAGE_CHARGE), (1000, 1000));
        assert_eq!(peer_grant.relinquished(501), Err(OverGrant));
    }

    #[test]
    fn pieces_ahead_of_their_announcement_count_against_the_grant() {
        let mut peer_grant = PeerGrant::new(1000, 0);
        peer_grant.charge_early_data(600).unwrap();
        assert_eq!(peer_grant.charge_early_data(401), Err(OverGrant));
        peer_grant.early_data_announced(600);
        peer_grant.charge_eager(600 + MESSAGE_CHARGE).unwrap();
    }

    #[test]
    fn announcements_and_nothing_else_go_beyond_the_grant() {
        let mut credit = Credit::new(MESSAGE_CHARGE);
        credit.set_grant(1000);
        let mut peer_grant = PeerGrant::new(1000, MESSAGE_CHARGE);
        credit.spend(1000);
        assert!(!credit.allows_eager(0) && credit.allows_request());
        credit.spend(MESSAGE_CHARGE);
        assert!(!credit.allows_request());
        // On another rail, and so earlier.
        peer_grant.charge_request().unwrap();
        peer_grant.charge_eager(1000).unwrap();
        assert_eq!(peer_grant.charge_eager(MESSAGE_CHARGE), Err(OverGrant));
        assert_eq!(peer_grant.charge_request(), Err(OverGrant));
        peer_grant.release_request();
        assert!(peer_grant.blocks_peer());
    }
}
