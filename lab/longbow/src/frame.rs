//! Computes the bytes on the wire of a frame, and of the packets of an offload frame.

use fishplate_link::ethernet;

/// Bytes at the beginning of a packet that contain its headers: the maximum lengths of IP and TCP headers.
pub const HEAD_BYTES: usize = 120;

/// Length of the Ethernet header of TAP frames.
pub const ETHERNET_HEADER: usize = 14;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: u32 = 8;
const IPV6_HEADER: u32 = 40;

/// How the payload of an offload frame will be segmented.
#[derive(Clone, Copy, Debug)]
pub enum Segments {
    /// Not at all: the frame is one packet.
    None,
    /// Payload bytes of each packet.
    Payload(u32),
    /// Packets of at most this length, including their network header.
    Mtu(u32),
}

/// Bytes on the wire of a packet. `head` is its beginning, `packet_bytes` its length from the network header on.
pub fn wire_bytes(ethertype: u16, head: &[u8], packet_bytes: u32, segments: Segments) -> u32 {
    let headers = header_bytes(ethertype, head);
    match (segments, headers) {
        (Segments::Payload(segment), Some(headers)) => {
            ethernet::segments_wire_bytes(headers, packet_bytes.saturating_sub(headers), segment)
        }
        (Segments::Mtu(mtu), Some(headers)) => {
            let segment = mtu.saturating_sub(headers);
            ethernet::segments_wire_bytes(headers, packet_bytes.saturating_sub(headers), segment)
        }
        _ => ethernet::wire_bytes(packet_bytes),
    }
}

/// Length of the network and transport headers; `None` for unknown protocols.
fn header_bytes(ethertype: u16, head: &[u8]) -> Option<u32> {
    let (network, protocol) = network_header(ethertype, head)?;
    match protocol {
        TCP => Some(network + u32::from(head.get(network as usize + 12)? >> 4) * 4),
        UDP => Some(network + UDP_HEADER),
        _ => None,
    }
}

/// Length of the network header, and the protocol of its payload.
fn network_header(ethertype: u16, head: &[u8]) -> Option<(u32, u8)> {
    match ethertype {
        IPV4 => Some((u32::from(head.first()? & 0x0f) * 4, *head.get(9)?)),
        IPV6 => Some((IPV6_HEADER, *head.get(6)?)),
        _ => None,
    }
}

/// Offsets of the parts of a TCP or UDP packet.
pub struct Transport {
    /// Transport header.
    pub begin: usize,
    /// Payload after the transport header.
    pub payload: usize,
    /// Checksum, if the packet has one.
    pub checksum: Option<usize>,
}

/// Offsets in a packet that begins with its network header; `None` for unknown protocols.
pub fn transport(ethertype: u16, packet: &[u8]) -> Option<Transport> {
    let (network, protocol) = network_header(ethertype, packet)?;
    let is_later_fragment = ethertype == IPV4 && u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff != 0;
    let payload = header_bytes(ethertype, packet).filter(|_| !is_later_fragment)? as usize;
    let begin = network as usize;
    let checksum = begin + if protocol == TCP { 16 } else { 6 };
    Some(Transport { begin, payload, checksum: (checksum + 2 <= packet.len()).then_some(checksum) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp_over_ipv4() -> Vec<u8> {
        let mut head = vec![0; 64];
        head[0] = 0x45;
        head[9] = TCP;
        head[20 + 12] = 8 << 4;
        head
    }

    #[test]
    fn offload_frames_count_as_their_packets() {
        let head = tcp_over_ipv4();
        for segments in [Segments::Mtu(1500), Segments::Payload(1448)] {
            assert_eq!(wire_bytes(IPV4, &head, 52 + 10 * 1448, segments), 10 * 1538);
        }
        assert_eq!(wire_bytes(IPV4, &head, 1500, Segments::None), 1538);
        let mut udp = vec![0; 48];
        udp[6] = UDP;
        assert_eq!(wire_bytes(IPV6, &udp, 48 + 2 * 1452, Segments::Mtu(1500)), 2 * 1538);
    }

    #[test]
    fn an_unknown_frame_counts_as_one_packet() {
        for head in [&[][..], &[0x45], &tcp_over_ipv4()[..30]] {
            assert_eq!(wire_bytes(IPV4, head, 3000, Segments::Mtu(1500)), 3038);
        }
        assert_eq!(wire_bytes(0x0806, &[0; 28], 28, Segments::Mtu(1500)), 84);
        assert_eq!(wire_bytes(IPV4, &tcp_over_ipv4(), 3000, Segments::Mtu(10)), 3038);
    }
}
