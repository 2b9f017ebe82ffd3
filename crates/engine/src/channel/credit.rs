//! Credit: how much of a peer's memory may be filled with messages that it has not asked for. Counted in bytes of
//! payload plus a fixed charge a message, cumulatively and modulo 2^32, so that news may come late or twice.

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes.
pub const MESSAGE_CHARGE: u64 = 128;

/// The sender's side: credit granted by the peer.
#[derive(Debug, Default)]
pub struct Credit {
    grant: u64,
    used: u64,
    returned: u64,
}

/// The peer returns more than was used, or less than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCredit;

impl Credit {
    /// The peer lets this endpoint leave `grant` bytes with it.
    pub fn set_grant(&mut self, grant: u64) {
        // Half of the circle that returned credit is counted on.
        self.grant = grant.min(u64::from(u32::MAX / 2));
    }

    /// Bytes that may be sent now.
    pub fn available(&self) -> u64 {
        self.grant.saturating_sub(self.used - self.returned)
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
    held: u64,
    freed: u64,
    told: u64,
}

/// The peer has sent more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverGrant;

impl Debt {
    /// For a peer that is granted `grant` bytes.
    pub fn new(grant: u64) -> Self {
        Debt { grant, held: 0, freed: 0, told: 0 }
    }

    /// A message of `charge` bytes has come.
    pub fn hold(&mut self, charge: u64) -> Result<(), OverGrant> {
        // What was freed and not yet told cannot have been used by the peer, but counting on that would need another
        // counter: the bound on memory is what matters, and it holds.
        if self.held + charge > self.grant {
            return Err(OverGrant);
        }
        self.held += charge;
        Ok(())
    }

    /// A message of `charge` bytes has found its receive.
    pub fn free(&mut self, charge: u64) {
        self.held -= charge;
        self.freed += charge;
    }

    /// Whether so much has been freed that the peer should hear of it without waiting for a frame to carry the news.
    pub fn is_worth_telling(&self) -> bool {
        self.freed - self.told >= (self.grant / 4).max(1)
    }

    /// Whether the peer, as far as it knows, can send nothing more, although something has been freed.
    pub fn starves_peer(&self) -> bool {
        let untold = self.freed - self.told;
        untold > 0 && self.held + untold + MESSAGE_CHARGE > self.grant
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
        let mut credit = Credit { grant: 1000, used: u64::from(u32::MAX), returned: u64::from(u32::MAX) };
        credit.spend(1000);
        assert_eq!(credit.available(), 0);
        assert_eq!(credit.returned(499), Ok(true));
        assert_eq!(credit.available(), 500);
        assert_eq!(credit.returned(499), Ok(false));
        assert_eq!(credit.returned(u32::MAX), Ok(false));
        assert_eq!(credit.returned(1000), Err(BadCredit));
    }

    #[test]
    fn a_peer_cannot_leave_more_than_its_grant() {
        let mut debt = Debt::new(1000);
        debt.hold(600).unwrap();
        assert_eq!(debt.hold(401), Err(OverGrant));
        debt.hold(400).unwrap();
        debt.free(600);
        assert!(debt.is_worth_telling());
        assert_eq!(debt.tell(), 600);
        assert!(!debt.is_worth_telling());
    }
}
