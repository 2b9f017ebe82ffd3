//! One IP address in an endpoint's list: a byte with its rail (upper five bits) and kind (lower three), and the bytes of that
//! kind.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fishplate_host::HostId;

use super::{MAX_RAIL_ADDRESSES, is_scoped};
use crate::process;

/// Ends a list that is shorter than its field.
const END: u8 = 0;
/// Four bytes.
const V4: u8 = 1;
/// Sixteen bytes.
const V6: u8 = 2;
/// The last eight bytes of an address that begins with fe80::/64.
const LINK_LOCAL: u8 = 3;
/// 127.0.0.1 and ::1, for endpoints on the same host: followed by the identity of the host.
const LOOPBACK_V4: u8 = 4;
const LOOPBACK_V6: u8 = 5;
/// The last two bytes of an IPv4 address; the first two are those of the IPv4 address before it in the list.
const V4_LIKE: u8 = 6;
/// The last byte of an IPv4 address; the others are those of the IPv4 address before it in the list.
const V4_NEAR: u8 = 7;
const KIND_BITS: u32 = 3;
const LINK_LOCAL_PREFIX: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

/// Writes entries one behind the other.
#[derive(Default)]
pub struct Writer {
    /// The last IPv4 address: the next one mostly has the same first bytes.
    before: [u8; 4],
}

impl Writer {
    /// The entry of an address.
    pub fn encode(&self, rail: u8, ip: &IpAddr) -> Vec<u8> {
        let (kind, bytes) = match ip {
            IpAddr::V4(v4) if *v4 == Ipv4Addr::LOCALHOST => {
                (LOOPBACK_V4, process::host_id().number().to_be_bytes().to_vec())
            }
            IpAddr::V6(v6) if v6.is_loopback() => (LOOPBACK_V6, process::host_id().number().to_be_bytes().to_vec()),
            IpAddr::V4(v4) if v4.octets()[..3] == self.before[..3] => (V4_NEAR, v4.octets()[3..].to_vec()),
            IpAddr::V4(v4) if v4.octets()[..2] == self.before[..2] => (V4_LIKE, v4.octets()[2..].to_vec()),
            IpAddr::V4(v4) => (V4, v4.octets().to_vec()),
            IpAddr::V6(v6) if is_scoped(v6) && v6.octets().starts_with(&LINK_LOCAL_PREFIX) => {
                (LINK_LOCAL, v6.octets()[8..].to_vec())
            }
            IpAddr::V6(v6) => (V6, v6.octets().to_vec()),
        };
        [vec![rail << KIND_BITS | kind], bytes].concat()
    }

    /// The entry of `ip` has been written.
    pub fn wrote(&mut self, ip: &IpAddr) {
        remember(&mut self.before, ip);
    }
}

/// Remembers an address for later entries that refer to it. Encoder and decoder call it alike.
fn remember(before: &mut [u8; 4], ip: &IpAddr) {
    if let IpAddr::V4(v4) = ip
        && *v4 != Ipv4Addr::LOCALHOST
    {
        *before = v4.octets();
    }
}

/// The addresses of `rails` rails. The loopback addresses of other hosts are left out: here they would be those of this one.
pub fn decode_all(mut list: &[u8], rails: usize) -> Option<Vec<Vec<IpAddr>>> {
    let mut decoded: Vec<Vec<IpAddr>> = vec![Vec::new(); rails];
    let mut before = [0; 4];
    while let Some((head, rest)) = list.split_first() {
        let kind = head & ((1 << KIND_BITS) - 1);
        if kind == END {
            break;
        }
        let rail = decoded.get_mut(usize::from(head >> KIND_BITS)).filter(|rail| rail.len() < MAX_RAIL_ADDRESSES)?;
        let (ip, rest) = take(kind, rest, before)?;
        ip.iter().for_each(|ip| remember(&mut before, ip));
        rail.extend(ip);
        list = rest;
    }
    Some(decoded)
}

/// Decodes an entry of `kind` from the front of `bytes`. Its address is `None` if it means nothing on this host.
fn take(kind: u8, bytes: &[u8], before: [u8; 4]) -> Option<(Option<IpAddr>, &[u8])> {
    match kind {
        V4 => bytes.split_first_chunk::<4>().map(|(ip, rest)| (Some(IpAddr::from(*ip)), rest)),
        V4_LIKE => bytes
            .split_first_chunk::<2>()
            .map(|(end, rest)| (Some(IpAddr::from([before[0], before[1], end[0], end[1]])), rest)),
        V4_NEAR => {
            bytes.split_first().map(|(end, rest)| (Some(IpAddr::from([before[0], before[1], before[2], *end])), rest))
        }
        V6 => bytes.split_first_chunk::<16>().map(|(ip, rest)| (Some(IpAddr::from(*ip)), rest)),
        LINK_LOCAL => bytes.split_first_chunk::<8>().map(|(id, rest)| {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&LINK_LOCAL_PREFIX);
            octets[8..].copy_from_slice(id);
            (Some(IpAddr::from(octets)), rest)
        }),
        LOOPBACK_V4 | LOOPBACK_V6 => bytes.split_first_chunk::<{ HostId::LEN }>().map(|(host, rest)| {
            let ip: IpAddr = if kind == LOOPBACK_V4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
            ((u64::from_be_bytes(*host) == process::host_id().number()).then_some(ip), rest)
        }),
        _ => None,
    }
}
