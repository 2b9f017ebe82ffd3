//! Credit: how much of a peer's memory may be filled with messages that it has not asked for. Counted in bytes of
//! payload plus a fixed charge a message, cumulatively and modulo 2^32, so that news may come late, twice, or never.
//!
//! Payload stays within the grant. Announcements may go beyond it, by the *reserve*: they are small, and a receive may
//! wait for what comes behind messages that nothing has matched.

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes.
pub const MESSAGE_CHARGE: u64 = 128;

/// Most bytes that a peer may grant, so that cumulative counts stay within half of their circle.
pub const MOST_GRANT: u64 = 1 << 30;

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
    told: u64,
    /// What was given back.
    relinquished: u64,
}

/// The peer grants more than it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCredit;

impl Credit {
    /// Nothing granted yet; announcements may go `reserve` bytes beyond what will be.
    pub fn new(reserve: u64) -> Self {
        Credit { reserve, used: 0, first: 0, limit: 0, told: 0, relinquished: 0 }
    }

    /// The peer lets this endpoint leave `grant` bytes with it, to start with. Every connection says the same.
    pub fn set_grant(&mut self, grant: u64) {
        let grant = grant.min(MOST_GRANT);
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
    pub fn for_payload(&self) -> u64 {
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
    pub fn given(&mut self, total: u32) -> Result<bool, BadCredit> {
        let news = total.wrapping_sub(self.told as u32);
        // Old news come from a slower subchannel: more than half the circle "ahead" is behind.
        if news == 0 || news > u32::MAX / 2 {
            return Ok(false);
        }
        let news = u64::from(news);
        if self.limit + news > self.used + MOST_GRANT {
            return Err(BadCredit);
        }
        self.told += news;
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
pub struct Debt {
    first: u64,
    grant: u64,
    reserve: u64,
    /// By messages with their payload. Apart, as announcements overtake them on other rails.
    held_eager: u64,
    held: u64,
    /// Bytes of pieces that have overtaken the announcement of their message, which will be charged with them.
    unannounced: u64,
    /// Of what is held: bytes that were asked for, beyond the grant. What is freed makes good for them first.
    asked: u64,
    /// What was freed, and what the grant grew by.
    freed: u64,
    /// Given beside the first grant: the same, but for what made good for what was asked for.
    given: u64,
    told: u64,
    /// The peer may not have heard of what it was told: a subchannel has ended, and acknowledgements do not go again.
    is_unheard: bool,
    relinquished: u64,
    /// `freed` when the grant was looked at last.
    looked_at: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl Debt {
    /// For a peer that is granted `grant` bytes, and `reserve` more for announcements.
    pub fn new(grant: u64, reserve: u64) -> Self {
        let (held_eager, held, unannounced, asked, freed) = (0, 0, 0, 0, 0);
        let (given, told, relinquished, looked_at) = (0, 0, 0, 0);
        let is_unheard = false;
        Debt {
            first: grant,
            grant,
            reserve,
            held_eager,
            held,
            unannounced,
            asked,
            freed,
            given,
            told,
            is_unheard,
            relinquished,
            looked_at,
        }
    }

    /// Bytes of messages that the peer may leave here at present.
    pub fn grant(&self) -> u64 {
        self.grant
    }

    /// Bytes beyond the grant that are held, or on their way, because they were asked for.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Bytes of messages that the peer might leave here at first.
    pub fn first_grant(&self) -> u64 {
        self.first
    }

    // What was freed and not yet told cannot have been used by the peer, but counting on that would need another
    // counter: the bound on memory is what matters, and it holds.

    /// A message of `charge` bytes has come with its payload, or is announced with payload that follows.
    pub fn hold_eager(&mut self, charge: u64) -> Result<(), OverGrant> {
        let most = self.grant + self.asked;
        if self.held_eager + charge > most || self.held + charge > most + self.reserve {
            return Err(OverGrant);
        }
        self.held_eager += charge;
        self.held += charge;
        Ok(())
    }

    /// A piece of `len` bytes has come before its message was announced.
    pub fn hold_unannounced(&mut self, len: u64) -> Result<(), OverGrant> {
        if self.held_eager + self.unannounced + len > self.grant + self.asked {
            return Err(OverGrant);
        }
        self.unannounced += len;
        Ok(())
    }

    /// The message to which such pieces, `len` bytes in all, belong has been announced, or is forgotten.
    pub fn announced(&mut self, len: u64) {
        self.unannounced -= len;
    }

    /// A message has been announced.
    pub fn hold_request(&mut self) -> Result<(), OverGrant> {
        if self.held + MESSAGE_CHARGE > self.grant + self.asked + self.reserve {
            return Err(OverGrant);
        }
        self.held += MESSAGE_CHARGE;
        Ok(())
    }

    /// A message that came with its payload, `charge` bytes, has found its receive.
    pub fn free_eager(&mut self, charge: u64) {
        let good = charge.min(self.asked);
        self.held_eager -= charge;
        self.held -= charge;
        self.freed += charge;
        self.asked -= good;
        self.given += charge - good;
    }

    /// An announced message has found its receive.
    pub fn free_request(&mut self) {
        self.held -= MESSAGE_CHARGE;
        self.freed += MESSAGE_CHARGE;
        self.given += MESSAGE_CHARGE;
    }

    /// Bytes of announced messages that can be [asked](Debt::ask) for now, and at most: half of the grant.
    pub fn to_ask(&self) -> (u64, u64) {
        let most = self.grant / 2;
        (most.saturating_sub(self.asked + MESSAGE_CHARGE), most)
    }

    /// `len` bytes of an announced message are asked for: it is one with payload that follows now.
    pub fn ask(&mut self, len: u64) {
        self.free_request();
        let charge = len + MESSAGE_CHARGE;
        self.asked += charge;
        self.held += charge;
        self.held_eager += charge;
    }

    /// Whether the peer has used a good part of its grant since this was asked with success last: a larger one may help.
    pub fn is_in_use(&mut self) -> bool {
        let in_use = self.freed - self.looked_at >= self.grant / 4;
        if in_use {
            self.looked_at = self.freed;
        }
        in_use
    }

    /// The peer is granted `more` bytes.
    pub fn grow(&mut self, more: u64) {
        self.grant += more;
        self.freed += more;
        self.given += more;
    }

    /// The peer has given back `total` bytes of its grant since the start. How many of these are news.
    pub fn relinquished(&mut self, total: u64) -> Result<u64, OverGrant> {
        let news = total.saturating_sub(self.relinquished);
        if news > self.grant - self.first || self.held_eager + news > self.grant + self.asked {
            return Err(OverGrant);
        }
        self.relinquished += news;
        self.grant -= news;
        Ok(news)
    }

    /// Whether the peer should hear what it was given without waiting for a frame to carry the news.
    pub fn is_worth_telling(&self) -> bool {
        self.is_unheard || self.given - self.told >= (self.grant / 4).max(1)
    }

    /// What the peer was told last may be lost.
    pub fn untell(&mut self) {
        self.is_unheard = self.given > 0;
    }

    /// Whether the peer, as far as it knows, can send no payload, or nothing at all, although by now it could.
    pub fn starves_peer(&self) -> bool {
        let next = self.held.saturating_sub(self.asked) + MESSAGE_CHARGE;
        let untold = self.given - self.told;
        [self.grant, self.grant + self.reserve].iter().any(|most| next <= *most && *most < next + untold)
    }

    /// What to put into the header of a frame.
    pub fn tell(&mut self) -> u32 {
        self.told = self.given;
        self.is_unheard = false;
        self.given as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_used_and_comes_back_late_twice_and_around_the_circle() {
        let start = u64::from(u32::MAX);
        let mut credit = Credit { used: start, told: start, limit: start, ..Credit::new(0) };
        credit.set_grant(1000);
        credit.set_grant(1000);
        credit.spend(1000);
        assert!(!credit.allows_eager(0));
        assert_eq!(credit.given(499), Ok(true));
        assert!(credit.allows_eager(500 - MESSAGE_CHARGE) && !credit.allows_eager(501 - MESSAGE_CHARGE));
        assert_eq!(credit.given(499), Ok(false));
        assert_eq!(credit.given(u32::MAX), Ok(false));
        assert_eq!(credit.given(MOST_GRANT as u32), Err(BadCredit));
    }

    #[test]
    fn a_peer_cannot_leave_more_than_its_grant() {
        let mut debt = Debt::new(1000, 0);
        debt.hold_eager(600).unwrap();
        assert_eq!(debt.hold_eager(401), Err(OverGrant));
        debt.hold_eager(400).unwrap();
        debt.free_eager(600);
        assert!(debt.is_worth_telling());
        assert_eq!(debt.tell(), 600);
        assert!(!debt.is_worth_telling());
    }

    #[test]
    fn a_grant_grows_and_what_is_unused_comes_back() {
        let (mut credit, mut debt) = (Credit::new(0), Debt::new(1000, 0));
        credit.set_grant(1000);
        debt.grow(500);
        credit.given(debt.tell()).unwrap();
        credit.spend(700);
        debt.hold_eager(700).unwrap();
        assert!(!credit.has_surplus(), "800 are left");
        debt.free_eager(700);
        credit.given(debt.tell()).unwrap();
        assert!(credit.has_surplus());
        let total = credit.relinquish();
        assert_eq!(debt.relinquished(total), Ok(500));
        assert_eq!(debt.relinquished(total), Ok(0), "told twice");
        assert_eq!((debt.grant(), credit.for_payload() + MESSAGE_CHARGE), (1000, 1000));
        assert_eq!(debt.relinquished(501), Err(OverGrant));
    }

    #[test]
    fn pieces_ahead_of_their_announcement_count_against_the_grant() {
        let mut debt = Debt::new(1000, 0);
        debt.hold_unannounced(600).unwrap();
        assert_eq!(debt.hold_unannounced(401), Err(OverGrant));
        debt.announced(600);
        debt.hold_eager(600 + MESSAGE_CHARGE).unwrap();
    }

    #[test]
    fn announcements_and_nothing_else_go_beyond_the_grant() {
        let mut credit = Credit::new(MESSAGE_CHARGE);
        credit.set_grant(1000);
        let mut debt = Debt::new(1000, MESSAGE_CHARGE);
        credit.spend(1000);
        assert!(!credit.allows_eager(0) && credit.allows_request());
        credit.spend(MESSAGE_CHARGE);
        assert!(!credit.allows_request());
        // On another rail, and so earlier.
        debt.hold_request().unwrap();
        debt.hold_eager(1000).unwrap();
        assert_eq!(debt.hold_eager(MESSAGE_CHARGE), Err(OverGrant));
        assert_eq!(debt.hold_request(), Err(OverGrant));
        debt.free_request();
        assert!(debt.starves_peer());
    }
}
