//! Credit: how much of a peer's memory may be filled with messages that it has not asked for. Counted in bytes of
//! payload plus a fixed charge a message, cumulatively and modulo 2^32, so that news may come late or twice.
//!
//! Payload stays within the grant. Announcements may go beyond it, by the *reserve*: they are small, and a receive may
//! wait for what comes behind messages that nothing has matched.

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes.
pub const MESSAGE_CHARGE: u64 = 128;

/// The sender's side: credit granted by the peer.
#[derive(Debug)]
pub struct Credit {
    grant: u64,
    reserve: u64,
    used: u64,
    returned: u64,
}

/// The peer returns more than was used, or less than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCredit;

impl Credit {
    /// Nothing granted yet; announcements may go `reserve` bytes beyond what will be.
    pub fn new(reserve: u64) -> Self {
        Credit { grant: 0, reserve, used: 0, returned: 0 }
    }

    /// The peer lets this endpoint leave `grant` bytes with it.
    pub fn set_grant(&mut self, grant: u64) {
        // Half of the circle that returned credit is counted on.
        self.grant = grant.min(u64::from(u32::MAX / 2).saturating_sub(self.reserve));
    }

    /// Whether a message of `len` bytes may go with its payload.
    pub fn allows_eager(&self, len: u64) -> bool {
        self.outstanding() + len + MESSAGE_CHARGE <= self.grant
    }

    /// Whether a message may be announced.
    pub fn allows_request(&self) -> bool {
        self.outstanding() + MESSAGE_CHARGE <= self.grant + self.reserve
    }

    fn outstanding(&self) -> u64 {
        self.used - self.returned
    }

    /// `charge` bytes are sent.
    pub fn spend(&mut self, charge: u64) {
        self.used += charge;
    }

    /// The peer has returned so much in all, modulo 2^32. True if that is news.
    pub fn returned(&mut self, total: u32) -> Result<bool, BadCredit> {
        let news = total.wrapping_sub(self.returned as u32);
        // Old news come from a slower subchannel: more than half the circle "ahead" is behind.
        if news == 0 || news > u32::MAX / 2 {
            return Ok(false);
        }
        let returned = self.returned + u64::from(news);
        if returned > self.used {
            return Err(BadCredit);
        }
        self.returned = returned;
        Ok(true)
    }
}

/// The receiver's side: what the peer has used of this endpoint's grant.
#[derive(Debug)]
pub struct Debt {
    grant: u64,
    reserve: u64,
    /// By messages with their payload. Apart, as announcements overtake them on other rails.
    held_eager: u64,
    held: u64,
    freed: u64,
    told: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl Debt {
    /// For a peer that is granted `grant` bytes, and `reserve` more for announcements.
    pub fn new(grant: u64, reserve: u64) -> Self {
        Debt { grant, reserve, held_eager: 0, held: 0, freed: 0, told: 0 }
    }

    // What was freed and not yet told cannot have been used by the peer, but counting on that would need another
    // counter: the bound on memory is what matters, and it holds.

    /// A message of `charge` bytes has come with its payload.
    pub fn hold_eager(&mut self, charge: u64) -> Result<(), OverGrant> {
        if self.held_eager + charge > self.grant || self.held + charge > self.grant + self.reserve {
            return Err(OverGrant);
        }
        self.held_eager += charge;
        self.held += charge;
        Ok(())
    }

    /// A message has been announced.
    pub fn hold_request(&mut self) -> Result<(), OverGrant> {
        if self.held + MESSAGE_CHARGE > self.grant + self.reserve {
            return Err(OverGrant);
        }
        self.held += MESSAGE_CHARGE;
        Ok(())
    }

    /// A message that came with its payload, `charge` bytes, has found its receive.
    pub fn free_eager(&mut self, charge: u64) {
        self.held_eager -= charge;
        self.held -= charge;
        self.freed += charge;
    }

    /// An announced message has found its receive.
    pub fn free_request(&mut self) {
        self.held -= MESSAGE_CHARGE;
        self.freed += MESSAGE_CHARGE;
    }

    /// Whether so much has been freed that the peer should hear of it without waiting for a frame to carry the news.
    pub fn is_worth_telling(&self) -> bool {
        self.freed - self.told >= (self.grant / 4).max(1)
    }

    /// Whether the peer, as far as it knows, can send no payload, or nothing at all, although by now it could.
    pub fn starves_peer(&self) -> bool {
        let next = self.held + MESSAGE_CHARGE;
        let untold = self.freed - self.told;
        [self.grant, self.grant + self.reserve].iter().any(|most| next <= *most && *most < next + untold)
    }

    /// What to put into the header of a frame.
    pub fn tell(&mut self) -> u32 {
        self.told = self.freed;
        self.freed as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_used_and_comes_back_late_twice_and_around_the_circle() {
        let mut credit = Credit { grant: 1000, reserve: 0, used: u64::from(u32::MAX), returned: u64::from(u32::MAX) };
        credit.spend(1000);
        assert!(!credit.allows_eager(0));
        assert_eq!(credit.returned(499), Ok(true));
        assert!(credit.allows_eager(500 - MESSAGE_CHARGE) && !credit.allows_eager(501 - MESSAGE_CHARGE));
        assert_eq!(credit.returned(499), Ok(false));
        assert_eq!(credit.returned(u32::MAX), Ok(false));
        assert_eq!(credit.returned(1000), Err(BadCredit));
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
