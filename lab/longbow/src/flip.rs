//! Flips a bit of a packet and corrects the checksum of TCP or UDP, so that the receiver's checksum does not detect it.

use crate::frame::{self, Transport};

/// Flips one bit of the payload after the transport header, selected by a random number. False if there is no payload.
///
/// `packet` begins with its network header. `has_checksum`: its checksum is complete, not left to checksum offload.
pub fn flip(ethertype: u16, packet: &mut [u8], random: u64, has_checksum: bool) -> bool {
    let Some(Transport { begin, payload, checksum }) = frame::transport(ethertype, packet) else { return false };
    let bits = packet.len().saturating_sub(payload) as u64 * 8;
    if bits == 0 {
        return false;
    }
    let bit = random % bits;
    let at = payload + (bit / 8) as usize;
    let even = begin + (at - begin) / 2 * 2;
    let before = word(packet, even);
    packet[at] ^= 1 << (bit % 8);
    if has_checksum && let Some(checksum) = checksum {
        let fixed = corrected(word(packet, checksum), before, word(packet, even));
        packet[checksum..checksum + 2].copy_from_slice(&fixed.to_be_bytes());
    }
    true
}

/// The 16 bits at byte `at`, padded with zeros beyond the end of the packet.
fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet.get(at).copied().unwrap_or(0), packet.get(at + 1).copied().unwrap_or(0)])
}

/// Updates an Internet checksum after a change of one word (RFC 1624, equation 3). In UDP, 0 means no checksum.
fn corrected(checksum: u16, before: u16, after: u16) -> u16 {
    if checksum == 0 {
        return 0;
    }
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    match !(folded as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPV4: u16 = 0x0800;
    const TCP: u8 = 6;
    const UDP: u8 = 17;

    /// A packet with a payload of `len` bytes and a correct checksum.
    fn packet(protocol: u8, len: usize) -> (Vec<u8>, usize) {
        let headers = 20 + if protocol == TCP { 32 } else { 8 };
        let mut packet: Vec<u8> = (0..headers + len).map(|at| (at * 7) as u8).collect();
        (packet[0], packet[6], packet[7], packet[9]) = (0x45, 0x40, 0, protocol);
        if protocol == TCP {
            packet[32] = 8 << 4;
        }
        let checksum = 20 + if protocol == TCP { 16 } else { 6 };
        packet[checksum..checksum + 2].fill(0);
        let sum = !sum(&packet[20..]);
        packet[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
        (packet, headers)
    }

    /// The checksum without the pseudo header, which never changes.
    fn sum(bytes: &[u8]) -> u16 {
        let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
        let sum: u64 = words.map(u64::from).sum();
        (0..4).fold(sum, |sum, _| (sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn one_bit_of_the_payload_changes_and_the_checksum_still_fits() {
        for protocol in [TCP, UDP] {
            for (random, len) in (0..4000u64).zip((1..100).cycle()) {
                let (before, headers) = packet(protocol, len);
                let mut after = before.clone();
                assert!(flip(IPV4, &mut after, random.wrapping_mul(0x9e37_79b9_7f4a_7c15), true));
                let bits = |from: usize| -> u32 {
                    before[from..].iter().zip(&after[from..]).map(|(a, b)| (a ^ b).count_ones()).sum()
                };
                assert_eq!(bits(headers), 1);
                assert_eq!(sum(&after[20..]), 0xffff, "{protocol} {random}");
            }
        }
    }

    #[test]
    fn a_checksum_that_the_adapter_is_to_make_stays_and_what_has_no_payload_too() {
        let (before, headers) = packet(TCP, 10);
        let mut after = before.clone();
        assert!(flip(IPV4, &mut after, 5, false));
        assert_eq!(before[..headers], after[..headers]);
        let (before, _) = packet(TCP, 0);
        let mut after = before.clone();
        assert!(!flip(IPV4, &mut after, 5, true));
        assert!(!flip(0x0806, &mut after, 5, true), "ARP");
        assert_eq!(before, after);
    }

    #[test]
    fn a_fragment_that_is_not_the_first_has_no_transport_header() {
        let (mut packet, _) = packet(UDP, 100);
        packet[7] = 20;
        assert!(!flip(IPV4, &mut packet, 5, true));
    }
}
