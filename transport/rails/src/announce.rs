//! Tells the network which interface has which address, where several interfaces of this host are in one network.
//!
//! There each of them answers ARP requests for any address of this host, and askers keep the first answer. An ARP request from
//! the interface that has the address corrects them. Users may not send ARP packets, but the kernel sends a request before a
//! datagram to an unknown address: so a datagram is sent to an address that is hardly ever used.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fishplate_link_core::random;

use crate::rail::Rail;
use crate::socket;

/// Port of the datagram, which mostly goes nowhere: *discard*.
const PORT: u16 = 9;
/// Networks with longer prefixes have no address to spare.
const MAX_PREFIX: u8 = 30;

/// Announces the rail's IPv4 addresses; IPv6 does not need it. Errors are ignored: an announcement only saves time.
pub fn announce(rail: &Rail) {
    for own in rail.addresses.iter().filter(|own| own.prefix <= MAX_PREFIX) {
        let IpAddr::V4(ip) = own.ip else { continue };
        let Some(nobody) = any_in_network(ip, own.prefix) else { continue };
        if let Ok(socket) = socket::datagrams(SocketAddr::new(own.ip, 0), Some(&rail.interface)) {
            let _ = socket.send_to(&[], (nobody, PORT));
        }
    }
}

/// An address of the network, another one each time: the kernel does not soon repeat a request for an unused address.
fn any_in_network(ip: Ipv4Addr, prefix: u8) -> Option<Ipv4Addr> {
    let hosts = u32::MAX >> prefix;
    let host = u32::from_ne_bytes(random().ok()?) % (hosts - 1) + 1;
    let other = Ipv4Addr::from(u32::from(ip) & !hosts | host);
    (other != ip).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_of_the_network_and_neither_its_first_nor_its_last() {
        for _ in 0..100 {
            let Some(ip) = any_in_network("10.0.0.6".parse().unwrap(), 30) else { continue };
            assert_eq!(ip, "10.0.0.5".parse::<Ipv4Addr>().unwrap());
            let ip = any_in_network("10.1.2.3".parse().unwrap(), 8).unwrap();
            assert_eq!(ip.octets()[0], 10);
        }
    }
}
