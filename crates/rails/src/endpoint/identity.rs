//! Who an endpoint is to its peers.

use crate::address::{Address, Token};
use crate::handshake::{Party, Terms};
use crate::rail::Rail;
use crate::random::random;

/// The identity of an endpoint.
#[derive(Debug)]
pub struct OwnIdentity {
    /// What peers need in order to reach it.
    pub address: Address,
    /// It as a side of handshakes.
    pub party: Party,
    /// What its blob has room for of the address, where that is not all.
    pub listed: Option<Address>,
}

impl OwnIdentity {
    /// That of a new endpoint that listens on `port`, at all addresses of `rails`.
    pub fn new(rails: &[Rail], port: u16, terms: Terms) -> std::io::Result<OwnIdentity> {
        let offered = rails.iter().map(|rail| rail.addresses.iter().map(|own| own.ip).collect());
        let preferred = Rail::preferred(rails).len();
        let address = Address::new(Token(random()?), port, offered.collect()).with_reserve(preferred);
        let listed = Address::decode(&address.encode()).ok().filter(|listed| listed.has_more);
        let party = Party { id: address.id, token: address.token, terms };
        Ok(OwnIdentity { address, party, listed })
    }
}
