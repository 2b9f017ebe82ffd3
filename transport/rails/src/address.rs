//! The address of an endpoint: all that its peers need in order to reach it, as a blob that the launcher carries.

mod entry;

use std::fmt;
use std::net::IpAddr;

use ring::hmac;

/// Greatest number of rails of one endpoint: a rail's number has five bits in the blob. Hosts with this number of interfaces exist.
pub const MAX_RAILS: usize = 32;
/// Greatest number of addresses of one rail that peers learn: an interface with more has them for other purposes.
pub const MAX_RAIL_ADDRESSES: usize = 8;

/// Length in bytes of an encoded address; MPI libraries reserve room for no more than 64.
pub const ADDRESS_LEN: usize = 64;

/// First byte. No older layout begins with it.
const MAGIC: u8 = 0xF6;
/// Bytes ahead of the list: magic, port, number of rails, token.
const FIXED_LEN: usize = 20;
/// Flag in the byte with the number of rails: there are more addresses than are listed.
const MORE: u8 = 0x80;
/// Flag in that byte: some interfaces are in reserve; the number of rails that are not is in a byte ahead of the list.
const RESERVE: u8 = 0x40;

/// The secret of one endpoint. A peer that connects must prove to know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Random number that names one endpoint of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

impl EndpointId {
    /// The id of the endpoint with this secret: a hash, from which the secret does not follow.
    pub fn of(token: &Token) -> EndpointId {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &token.0), b"fishplate id");
        EndpointId(tag.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }
}

/// An endpoint's identity, and its IP addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its name.
    pub id: EndpointId,
    /// Its secret.
    pub token: Token,
    /// TCP port, of all rails.
    pub port: u16,
    /// The IP addresses of each rail, those that peers likeliest reach first; at most [`MAX_RAILS`] rails. A rail may have no known
    /// address.
    pub rails: Vec<Vec<IpAddr>>,
    /// Number of rails at the front of `rails`; the interfaces behind them are in reserve.
    pub preferred: usize,
    /// There are further addresses, for which the blob has no room.
    pub has_more: bool,
}

/// A blob that is not an address of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address of this version of Fishplate")]
pub struct BadAddress;

impl Address {
    /// The address of the endpoint with this secret, listening on `port` at all these addresses.
    pub fn new(token: Token, port: u16, rails: Vec<Vec<IpAddr>>) -> Address {
        Address { id: EndpointId::of(&token), token, port, preferred: rails.len(), rails, has_more: false }
    }

    /// With all interfaces but the first `preferred` in reserve.
    pub fn with_reserve(self, preferred: usize) -> Address {
        Address { preferred: preferred.min(self.rails.len()), ..self }
    }

    /// The blob, with as many addresses as fit: one of each family, one in reserve, one of each rail, then further ones of
    /// rails, last those in reserve.
    pub fn encode(&self) -> [u8; ADDRESS_LEN] {
        let mut blob = [0; ADDRESS_LEN];
        let has_reserve = self.preferred < self.rails.len();
        let mut at = FIXED_LEN + usize::from(has_reserve);
        let mut left_out = self.has_more;
        let mut writer = entry::Writer::default();
        for (rail, ip) in by_importance(&self.rails, self.preferred) {
            let entry = writer.encode(rail, &ip);
            match blob.get_mut(at..at + entry.len()) {
                Some(room) => room.copy_from_slice(&entry),
                None => {
                    // Peers do not ask for addresses in reserve: the question would delay peers that do not need them.
                    left_out |= usize::from(rail) < self.preferred || self.preferred == 0;
                    continue;
                }
            }
            writer.wrote(&ip);
            at += entry.len();
        }
        blob[0] = MAGIC;
        blob[1..3].copy_from_slice(&self.port.to_le_bytes());
        blob[3] = self.rails.len() as u8 | if left_out { MORE } else { 0 } | if has_reserve { RESERVE } else { 0 };
        blob[4..FIXED_LEN].copy_from_slice(&self.token.0);
        if has_reserve {
            blob[FIXED_LEN] = self.preferred as u8;
        }
        blob
    }

    /// Reads a blob; it may be longer than an address.
    pub fn decode(blob: &[u8]) -> Result<Address, BadAddress> {
        let blob: &[u8; ADDRESS_LEN] = blob.first_chunk().ok_or(BadAddress)?;
        let (count, has_reserve) = (usize::from(blob[3] & !(MORE | RESERVE)), blob[3] & RESERVE != 0);
        let preferred = if has_reserve { usize::from(blob[FIXED_LEN]) } else { count };
        if blob[0] != MAGIC || count > MAX_RAILS || preferred > count {
            return Err(BadAddress);
        }
        let mut token = Token([0; 16]);
        token.0.copy_from_slice(&blob[4..FIXED_LEN]);
        let rails = entry::decode_all(&blob[FIXED_LEN + usize::from(has_reserve)..], count).ok_or(BadAddress)?;
        let has_more = blob[3] & MORE != 0;
        Ok(Address { has_more, preferred, ..Address::new(token, u16::from_le_bytes([blob[1], blob[2]]), rails) })
    }

    /// All addresses, for a peer that has asked for those for which the blob has no room.
    pub fn encode_rails(&self) -> Vec<u8> {
        let mut writer = entry::Writer::default();
        let entry = |(rail, ip): (u8, IpAddr)| {
            let entry = writer.encode(rail, &ip);
            writer.wrote(&ip);
            entry
        };
        let all = self.rails.iter().enumerate().flat_map(|(rail, ips)| ips.iter().map(move |ip| (rail as u8, *ip)));
        all.flat_map(entry).collect()
    }

    /// Takes the answer of a peer that was asked for all its addresses.
    pub fn complete(&mut self, list: &[u8]) -> Result<(), BadAddress> {
        self.rails = entry::decode_all(list, self.rails.len()).ok_or(BadAddress)?;
        self.has_more = false;
        Ok(())
    }
}

impl fmt::Display for Address {
    /// One IP address a rail, without the token; addresses in reserve only where there are no others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}@", self.id.0)?;
        let shown = if self.preferred > 0 { &self.rails[..self.preferred] } else { &self.rails };
        for (position, ip) in shown.iter().filter_map(|rail| rail.first()).enumerate() {
            write!(f, "{}{ip}", if position == 0 { "" } else { "+" })?;
        }
        write!(f, ":{}", self.port)
    }
}

/// Whether an address is link-local.
pub fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => is_scoped(v6),
    }
}

/// Whether an IPv6 address needs a scope, that is, an interface.
pub fn is_scoped(ip: &std::net::Ipv6Addr) -> bool {
    ip.is_unicast_link_local()
}

/// All addresses with their rails: first one of each family, and one in reserve, so that a peer that can reach only one of these
/// can ask for the rest; then the first address of each rail, the second, and so on; then those in reserve in that order.
fn by_importance(rails: &[Vec<IpAddr>], preferred: usize) -> impl Iterator<Item = (u8, IpAddr)> {
    let in_turns = (0..MAX_RAIL_ADDRESSES)
        .flat_map(|turn| rails.iter().enumerate().filter_map(move |(rail, ips)| Some((rail as u8, *ips.get(turn)?))));
    let in_turns: Vec<(u8, IpAddr)> = in_turns.collect();
    let is_in_reserve = |(rail, _): &(u8, IpAddr)| usize::from(*rail) >= preferred;
    let of_family = |is_v4: bool| {
        let mut all = in_turns.iter().filter(|one| !is_in_reserve(one) && !is_link_local(&one.1));
        all.find(|(_, ip)| ip.is_ipv4() == is_v4).copied()
    };
    let reserve = || in_turns.iter().filter(|one| is_in_reserve(one));
    let in_reserve = reserve().find(|(_, ip)| !is_link_local(ip)).or(reserve().next()).copied();
    let mut ordered: Vec<(u8, IpAddr)> =
        [of_family(true), of_family(false), in_reserve].into_iter().flatten().collect();
    let mut rest: Vec<_> = in_turns.iter().filter(|one| !ordered.contains(one)).copied().collect();
    rest.sort_by_key(is_in_reserve);
    ordered.extend(rest);
    ordered.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(rails: &[&[&str]]) -> Address {
        let rails = rails.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect());
        Address::new(Token(*b"sixteen  bytes!!"), 41000, rails.collect())
    }

    #[test]
    fn round_trips() {
        for rails in [
            &[&["10.0.0.1"][..]][..],
            &[&["10.0.0.1", "fd00::1"], &["10.0.1.1", "fd00:1::1"]],
            &[&["10.0.0.1", "fd00::1", "10.0.0.2", "10.0.1.2", "10.0.1.3"]],
            &[&["10.0.0.1"][..]; 20],
            &[&["127.0.0.1"]],
            &[&["::1"]],
            &[&["169.254.3.1", "fe80::1"], &["fe80::2"]],
            &[],
        ] {
            let address = address(rails);
            assert_eq!(Address::decode(&address.encode()), Ok(address));
        }
    }

    #[test]
    fn addresses_without_room_in_the_blob_are_requested() {
        let rails: Vec<Vec<IpAddr>> = (0..MAX_RAILS as u16)
            .map(|rail| vec![IpAddr::from([10, 0, rail as u8, 1]), IpAddr::from([0xfd00, rail, 0, 0, 0, 0, 0, 1])])
            .collect();
        let whole = Address::new(Token([7; 16]), 41000, rails);
        let mut known = Address::decode(&whole.encode()).unwrap();
        assert!(known.has_more);
        assert_eq!(known.rails.len(), MAX_RAILS);
        let listed: Vec<&IpAddr> = known.rails.iter().flatten().collect();
        assert!(listed.iter().any(|ip| ip.is_ipv4()) && listed.iter().any(|ip| ip.is_ipv6()), "{listed:?}");
        known.complete(&whole.encode_rails()).unwrap();
        assert_eq!(known, whole);
    }

    #[test]
    fn one_in_reserve_has_room_before_the_second_addresses_of_rails() {
        let rails: Vec<Vec<IpAddr>> = (0..12).map(|rail| vec![IpAddr::from([10, rail, 7, rail])]).collect();
        let whole = Address::new(Token([7; 16]), 41000, rails).with_reserve(9);
        let mut known = Address::decode(&whole.encode()).unwrap();
        assert!(known.has_more && known.preferred == 9 && !known.rails[9].is_empty(), "{known:?}");
        known.complete(&whole.encode_rails()).unwrap();
        assert_eq!(known, whole);
        let many =
            address(&[&["10.0.0.1", "fd00::1", "fe80::1"], &["fe80::2"], &["10.8.0.1"], &["10.9.1.1"]]).with_reserve(1);
        let known = Address::decode(&many.encode()).unwrap();
        let rooms: Vec<usize> = known.rails.iter().map(Vec::len).collect();
        assert_eq!((rooms, known.has_more), (vec![3, 0, 1, 1], false), "nobody asks for the rest");
        let few = address(&[&["10.0.0.1", "fd00::1"], &["10.8.0.1"]]).with_reserve(1);
        assert_eq!(Address::decode(&few.encode()), Ok(few.clone()));
        assert!(few.to_string().ends_with("@10.0.0.1:41000"), "{few}");
        let mut blob = few.encode();
        blob[FIXED_LEN] = 3;
        assert_eq!(Address::decode(&blob), Err(BadAddress), "there are two");
        let alone = few.with_reserve(0);
        assert_eq!(Address::decode(&alone.encode()), Ok(alone));
    }

    #[test]
    fn other_blobs_are_refused() {
        assert_eq!(Address::decode(&[]), Err(BadAddress));
        assert_eq!(Address::decode(&[0; 64]), Err(BadAddress));
        let good = address(&[&["10.0.0.1"]]).encode();
        // More rails than there may be; an entry of a rail that is not there; one without its end.
        for (at, bytes) in [(3, &[33][..]), (FIXED_LEN, &[0b01001]), (FIXED_LEN, &[2; 35])] {
            let mut blob = good;
            blob[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(Address::decode(&blob), Err(BadAddress), "{at}: {bytes:?}");
        }
    }

    #[test]
    fn the_token_is_not_shown() {
        let address = address(&[&["10.0.0.1", "fd00::1"], &["10.0.1.1"]]);
        assert!(!format!("{address} {address:?}").contains("sixteen"));
        assert!(address.to_string().ends_with("@10.0.0.1+10.0.1.1:41000"), "{address}");
    }
}
