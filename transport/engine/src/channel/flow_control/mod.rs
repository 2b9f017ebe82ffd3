//! Flow control: how many bytes of messages that no receive has matched a sender may leave at its peer.
//!
//! Counted in bytes of payload plus a fixed charge a message, cumulatively and modulo 2^32, so that a header with
//! credit may come late, twice, or never. Payload stays within the grant. RTS frames may exceed it by the *reserve*:
//! they are small, and a receive may wait for a message behind others that nothing has matched. [`Credit`] is the
//! sender's side, used by the scheduler; [`PeerGrant`] the receiver's, used by `engine/flow_control.rs` and by the files
//! of `engine/` that handle messages.

mod credit;
mod peer_grant;

pub use credit::Credit;
pub use peer_grant::{OverGrant, PeerGrant};

/// Charge of a message beside its payload: what the receiver's record of it takes, in bytes. Both sides of a channel count alike:
/// it belongs to the wire format.
pub const MESSAGE_CHARGE: u64 = 128;

/// Most bytes that a peer may grant, so that cumulative counts stay within half of their circle; of the wire format as well.
const MAX_GRANT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_used_and_comes_back_late_twice_and_around_the_circle() {
        let start = u64::from(u32::MAX);
        let mut credit = Credit::used_up_at(start);
        credit.set_grant(1000);
        credit.set_grant(1000);
        credit.spend(1000);
        assert!(!credit.allows_eager(0));
        assert!(credit.update(499));
        assert!(credit.allows_eager(500 - MESSAGE_CHARGE) && !credit.allows_eager(501 - MESSAGE_CHARGE));
        for older in [499, u32::MAX, 499 + (1 << 31), 1 + MAX_GRANT as u32] {
            assert!(!credit.update(older), "{older}");
        }
        assert!(!credit.allows_eager(501 - MESSAGE_CHARGE));
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
    fn a_grant_grows_and_its_unused_part_comes_back() {
        let (mut credit, mut peer_grant) = (Credit::new(0), PeerGrant::new(1000, 0));
        credit.set_grant(1000);
        peer_grant.grow(500);
        assert!(credit.update(peer_grant.advertise()));
        credit.spend(700);
        peer_grant.charge_eager(700).unwrap();
        assert!(!credit.has_surplus(), "800 are left");
        peer_grant.release_eager(700);
        assert!(credit.update(peer_grant.advertise()));
        assert!(credit.has_surplus());
        let total = credit.relinquish();
        assert_eq!(peer_grant.relinquished(total), Ok(500));
        assert_eq!(peer_grant.relinquished(total), Ok(0), "told twice");
        assert_eq!((peer_grant.bytes(), credit.available_for_payload() + MESSAGE_CHARGE), (1000, 1000));
        assert_eq!(peer_grant.relinquished(501), Err(OverGrant));
    }

    #[test]
    fn early_data_ahead_of_their_rts_count_against_the_grant() {
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
