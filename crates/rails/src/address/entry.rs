//! One IP address in the list of an endpoint's: a byte with its rail (upper five bits) and kind, and what tells it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{MAX_RAIL_ADDRESSES, is_scoped};
use crate::process;

/// Ends a list that does not fill its room.
const END: u8 = 0;
/// Four bytes.
const V4: u8 = 1;
/// Sixteen bytes.
const V6: u8 = 2;
/// The last eight bytes of an address that begins with fe80::/64.
const LINK_LOCAL: u8 = 3;
/// 127.0.0.1 and ::1, for endpoints on the same host: its mark.
const LOOPBACK_V4: u8 = 4;
const LOOPBACK_V6: u8 = 5;
const KIND_BITS: u32 = 3;
const LINK_LOCAL_PREFIX: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

/// The entry.
pub fn encode(rail: u8, ip: &IpAddr) -> Vec<u8> {
    let (kind, bytes) = match ip {
        IpAddr::V4(v4) if v4.is_loopback() && *v4 == Ipv4Addr::LOCALHOST => {
            (LOOPBACK_V4, process::host_mark().to_vec())
        }
        IpAddr::V6(v6) if v6.is_loopback() => (LOOPBACK_V6, process::host_mark().to_vec()),
        IpAddr::V4(v4) => (V4, v4.octets().to_vec()),
        IpAddr::V6(v6) if is_scoped(v6) && v6.octets().starts_with(&LINK_LOCAL_PREFIX) => {
            (LINK_LOCAL, v6.octets()[8..].to_vec())
        }
        IpAddr::V6(v6) => (V6, v6.octets().to_vec()),
    };
    [vec![rail << KIND_BITS | kind], bytes].concat()
}

/// The addresses of `rails` rails. The loopback addresses of other hosts are left out: here they would be those of this one.
pub fn decode_all(mut list: &[u8], rails: usize) -> Option<Vec<Vec<IpAddr>>> {
    let mut decoded: Vec<Vec<IpAddr>> = vec![Vec::new(); rails];
    while let Some((head, rest)) = list.split_first() {
        let kind = head & ((1 << KIND_BITS) - 1);
        if kind == END {
            break;
        }
        let rail = decoded.get_mut(usize::from(head >> KIND_BITS)).filter(|rail| rail.len() < MAX_RAIL_ADDRESSES)?;
        let (ip, rest) = take(kind, rest)?;
        rail.extend(ip);
        list = rest;
    }
    Some(decoded)
}

/// What an entry of `kind` begins with; no address if it is of no use on this host.
fn take(kind: u8, bytes: &[u8]) -> Option<(Option<IpAddr>, &[u8])> {
    match kind {
        V4 => bytes.split_first_chunk::<4>().map(|(ip, rest)| (Some(IpAddr::from(*ip)), rest)),
        V6 => bytes.split_first_chunk::<16>().map(|(ip, rest)| (Some(IpAddr::from(*ip)), rest)),
        LINK_LOCAL => bytes.split_first_chunk::<8>().map(|(id, rest)| {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&LINK_LOCAL_PREFIX);
            octets[8..].copy_from_slice(id);
            (Some(IpAddr::from(octets)), rest)
        }),
        LOOPBACK_V4 | LOOPBACK_V6 => bytes.split_first_chunk::<{ process::HOST_MARK_LEN }>().map(|(mark, rest)| {
            let ip: IpAddr = if kind == LOOPBACK_V4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
            ((mark == process::host_mark()).then_some(ip), rest)
        }),
        _ => None,
    }
}
