//! The identity of an endpoint: its address, and its side of handshakes.

use fishplate_link_core::random;

use crate::address::{Address, Token};
use crate::handshake::{Party, Terms};
use crate::rail::Rail;

/// The identity of an endpoint.
#[derive(Debug)]
pub struct OwnIdentity {
    pub address: Address,
    pub party: Party,
    /// The part of the address that fits into its blob, where that is not all.
    pub listed: Option<Address>,
}

impl OwnIdentity {
    /// The identity of a new endpoint that listens on `port`, at all addresses of `rails`.
    pub fn new(rails: &[Rail], port: u16, terms: Terms) -> std::io::Result<OwnIdentity> {
        let offered = rails.iter().map(|rail| rail.addresses.iter().map(|own| own.ip).collect());
        let preferred = Rail::preferred(rails).len();
        let address = Address::new(Token(random()?), port, offered.collect()).with_reserve(preferred);
        let listed = Address::decode(&address.encode()).ok().filter(|listed| listed.has_more);
        let party = Party { id: address.id, token: address.token, terms };
        Ok(OwnIdentity { address, party, listed })
    }
}
