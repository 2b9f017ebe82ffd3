//! Parses the kernel's message about a packet that waits.

use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use crate::frame::{self, Segments};
use crate::netlink;

/// Limit of the plausible age of a packet: a greater age means that the wall clock was set.
const MAX_AGE_NS: u64 = 20_000_000;
/// Bytes of `struct nfgenmsg`.
const GENERAL_MESSAGE: usize = 4;

/// While it exists, the kernel timestamps each packet on reception. Without, packets have no timestamp but that of reading.
pub struct Timestamps {
    _socket: OwnedFd,
}

impl Timestamps {
    /// Enables timestamps for all packets of the machine, which costs a few nanoseconds each.
    pub fn enable() -> Result<Timestamps> {
        let made = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        setsockopt(&made, sockopt::ReceiveTimestampns, &true)?;
        Ok(Timestamps { _socket: made })
    }
}

/// The clock of packet timestamps.
pub struct WallClock {
    ns: u64,
}

impl WallClock {
    pub fn read() -> WallClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallClock { ns: u64::try_from(since.as_nanos()).unwrap_or(0) }
    }
}

/// A packet that waits for its verdict.
#[derive(Default)]
pub struct Packet<'a> {
    /// The kernel's number of the packet.
    pub id: u32,
    /// Its Ethernet type.
    pub ethertype: u16,
    bytes: u32,
    head: &'a [u8],
    is_offload: bool,
    received_ns: Option<u64>,
}

impl<'a> Packet<'a> {
    /// From the body of a message; `None` if the message is about no packet.
    pub fn read(body: &'a [u8]) -> Option<Packet<'a>> {
        let mut packet = Packet::default();
        let mut identified = false;
        let mut whole_bytes = None;
        for (kind, value) in netlink::attributes(body.get(GENERAL_MESSAGE..)?) {
            match i32::from(kind) {
                libc::NFQA_PACKET_HDR => {
                    packet.id = number(value)?;
                    packet.ethertype = u16::from_be_bytes(value.get(4..6)?.try_into().ok()?);
                    identified = true;
                }
                libc::NFQA_PAYLOAD => packet.head = value,
                libc::NFQA_CAP_LEN => whole_bytes = number(value),
                libc::NFQA_SKB_INFO => packet.is_offload = number(value)? & libc::NFQA_SKB_GSO as u32 != 0,
                libc::NFQA_TIMESTAMP => packet.received_ns = stamp_ns(value),
                _ => {}
            }
        }
        packet.bytes = whole_bytes.unwrap_or(packet.head.len() as u32);
        identified.then_some(packet)
    }

    /// Bytes on the wire of all packets that it stands for, if it was received by an interface of this MTU.
    pub fn wire_bytes(&self, mtu: u32) -> u32 {
        let segments = if self.is_offload { Segments::Mtu(mtu) } else { Segments::None };
        frame::wire_bytes(self.ethertype, self.head, self.bytes, segments)
    }

    /// The whole packet with a correct checksum; empty if only the headers were copied.
    pub fn content(&self) -> &'a [u8] {
        if self.head.len() == self.bytes as usize && !self.is_offload { self.head } else { &[] }
    }

    /// Time since its reception; 0 if unknown.
    pub fn age_ns(&self, clock: &WallClock) -> u64 {
        let age = self.received_ns.and_then(|came| clock.ns.checked_sub(came));
        age.filter(|age| *age <= MAX_AGE_NS).unwrap_or(0)
    }
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(value.get(..4)?.try_into().ok()?))
}

/// `struct nfqnl_msg_packet_timestamp`: seconds and microseconds.
fn stamp_ns(value: &[u8]) -> Option<u64> {
    let part = |from: usize| Some(u64::from_be_bytes(value.get(from..from + 8)?.try_into().ok()?));
    part(0)?.checked_mul(1_000_000_000)?.checked_add(part(8)?.checked_mul(1_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::append_attribute;

    #[test]
    fn a_packet_is_read() {
        let mut body = vec![0; GENERAL_MESSAGE];
        append_attribute(&mut body, libc::NFQA_PACKET_HDR, &[0, 0, 1, 2, 0x08, 0x00, 0]);
        append_attribute(&mut body, libc::NFQA_TIMESTAMP, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5]);
        append_attribute(&mut body, libc::NFQA_SKB_INFO, &2u32.to_be_bytes());
        append_attribute(&mut body, libc::NFQA_CAP_LEN, &2948u32.to_be_bytes());
        let mut head = [0; 64];
        (head[0], head[9], head[32]) = (0x45, 6, 0x80);
        append_attribute(&mut body, libc::NFQA_PAYLOAD, &head);
        let packet = Packet::read(&body).unwrap();
        assert_eq!((packet.id, packet.wire_bytes(1500)), (258, 2 * 1538));
        assert_eq!(packet.age_ns(&WallClock { ns: 1_000_007_000 }), 2_000);
        assert_eq!(packet.age_ns(&WallClock { ns: 9_000_000_000 }), 0, "the clock was set");
        assert_eq!(packet.age_ns(&WallClock { ns: 0 }), 0, "the clock was set back");
        assert!(Packet::read(&body[..8]).is_none() && Packet::read(&[]).is_none());
    }
}
