//! The address of an endpoint: what its peers need in order to reach it, as a blob that the launcher carries.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Most rails of one endpoint that an address can list, if they are IPv4 (an IPv6 address takes the room of four).
pub const MAX_RAILS: usize = 8;

/// Length in bytes of an encoded address; MPI libraries reserve room for no more than 64.
pub const ADDRESS_LEN: usize = 64;

const MAGIC: u8 = 0xF5;
const LAYOUT: u8 = 1;
/// Bytes ahead of the list of rails: magic, layout, port, number of rails, families, reserved, id, token.
const FIXED_LEN: usize = 32;

/// The secret of one endpoint: whoever connects must prove to know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Random number that names one endpoint of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

/// Where and as whom an endpoint can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its name.
    pub id: EndpointId,
    /// Its secret.
    pub token: Token,
    /// TCP port, the same on every rail.
    pub port: u16,
    /// One IP address a rail, at most [`MAX_RAILS`].
    pub rails: Vec<IpAddr>,
}

/// A blob that is not an address of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAddress;

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a Fishplate address (a peer of another version, or not running Fishplate)")
    }
}

impl std::error::Error for BadAddress {}

impl Address {
    /// How many of `rails`, in order, fit into an encoded address.
    pub fn fitting(rails: &[IpAddr]) -> usize {
        let mut room = ADDRESS_LEN - FIXED_LEN;
        let fits = |ip: &&IpAddr| {
            let len = encoded_len(ip);
            let fits = len <= room;
            room = room.saturating_sub(len);
            fits
        };
        rails.iter().take_while(fits).count().min(MAX_RAILS)
    }

    /// The blob. Rails beyond [`Address::fitting`] are left out.
    pub fn encode(&self) -> [u8; ADDRESS_LEN] {
        let mut blob = [0; ADDRESS_LEN];
        let rails = &self.rails[..Self::fitting(&self.rails)];
        blob[0] = MAGIC;
        blob[1] = LAYOUT;
        blob[2..4].copy_from_slice(&self.port.to_le_bytes());
        blob[4] = rails.len() as u8;
        blob[8..16].copy_from_slice(&self.id.0.to_le_bytes());
        blob[16..32].copy_from_slice(&self.token.0);
        let mut at = FIXED_LEN;
        for (position, ip) in rails.iter().enumerate() {
            match ip {
                IpAddr::V4(v4) => blob[at..at + 4].copy_from_slice(&v4.octets()),
                IpAddr::V6(v6) => {
                    blob[5] |= 1 << position;
                    blob[at..at + 16].copy_from_slice(&v6.octets());
                }
            }
            at += encoded_len(ip);
        }
        blob
    }

    /// Reads a blob; it may be longer than an address.
    pub fn decode(blob: &[u8]) -> Result<Address, BadAddress> {
        let blob: &[u8; ADDRESS_LEN] = blob.get(..ADDRESS_LEN).and_then(|b| b.try_into().ok()).ok_or(BadAddress)?;
        if blob[0] != MAGIC || blob[1] != LAYOUT || usize::from(blob[4]) > MAX_RAILS {
            return Err(BadAddress);
        }
        let mut rails = Vec::new();
        let mut rest = &blob[FIXED_LEN..];
        for position in 0..blob[4] {
            rails.push(take_ip(&mut rest, blob[5] & (1 << position) != 0).ok_or(BadAddress)?);
        }
        Ok(Address {
            id: EndpointId(u64::from_le_bytes(array(&blob[8..16]))),
            token: Token(array(&blob[16..32])),
            port: u16::from_le_bytes(array(&blob[2..4])),
            rails,
        })
    }
}

impl fmt::Display for Address {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}@", self.id.0)?;
        for (position, ip) in self.rails.iter().enumerate() {
            write!(f, "{}{ip}", if position == 0 { "" } else { "+" })?;
        }
        write!(f, ":{}", self.port)
    }
}

fn encoded_len(ip: &IpAddr) -> usize {
    if ip.is_ipv4() { 4 } else { 16 }
}

fn take_ip(rest: &mut &[u8], v6: bool) -> Option<IpAddr> {
    if v6 {
        let (octets, tail) = rest.split_first_chunk::<16>()?;
        *rest = tail;
        Some(IpAddr::V6(Ipv6Addr::from(*octets)))
    } else {
        let (octets, tail) = rest.split_first_chunk::<4>()?;
        *rest = tail;
        Some(IpAddr::V4(Ipv4Addr::from(*octets)))
    }
}

/// A slice whose length is known from constants.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(rails: &[&str]) -> Address {
        Address {
            id: EndpointId(0x0123_4567_89ab_cdef),
            token: Token(*b"sixteen  bytes!!"),
            port: 41000,
            rails: rails.iter().map(|ip| ip.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn round_trips() {
        for rails in [&["10.0.0.1"][..], &["10.0.0.1", "fd00::1"], &["10.0.0.1"; 8], &["fd00::1", "fd01::1"]] {
            let address = address(rails);
            assert_eq!(Address::decode(&address.encode()), Ok(address));
        }
    }

    #[test]
    fn rails_without_room_are_left_out() {
        let address = address(&["fd00::1", "fd01::1", "fd02::1"]);
        assert_eq!(Address::decode(&address.encode()).unwrap().rails.len(), 2);
    }

    #[test]
    fn other_blobs_are_refused() {
        assert_eq!(Address::decode(&[]), Err(BadAddress));
        assert_eq!(Address::decode(&[0; 64]), Err(BadAddress));
        let mut blob = address(&["10.0.0.1"]).encode();
        blob[4] = 9;
        assert_eq!(Address::decode(&blob), Err(BadAddress));
        blob[4] = 8;
        blob[5] = 0xff;
        assert_eq!(Address::decode(&blob), Err(BadAddress));
    }

    #[test]
    fn the_token_is_not_shown() {
        let address = address(&["10.0.0.1"]);
        assert!(!format!("{address} {address:?}").contains("sixteen"));
        assert_eq!(address.to_string(), "0123456789abcdef@10.0.0.1:41000");
    }
}
