//! Which of our rails talks to which address of a peer.

use std::net::IpAddr;

use crate::discover::{route_to, same_network};

/// A rail of this node, as far as pairing needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its address.
    pub ip: IpAddr,
    /// Prefix length of its network.
    pub prefix: u8,
}

/// A rail of ours, and the address of the peer that it connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Position among our rails.
    pub local: usize,
    /// The peer's address.
    pub remote: IpAddr,
}

/// Pairs rails: first those in the same network; then what is left on either side, so that each rail that can be
/// routed is used once at least.
pub fn pair(locals: &[Local], remotes: &[IpAddr]) -> Vec<Pair> {
    pair_with(locals, remotes, |local, remote| route_to(local, remote).is_ok())
}

fn pair_with(locals: &[Local], remotes: &[IpAddr], routed: impl Fn(IpAddr, IpAddr) -> bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut free_remotes: Vec<IpAddr> = remotes.to_vec();
    let mut free_locals: Vec<usize> = Vec::new();
    for (local, own) in locals.iter().enumerate() {
        match free_remotes.iter().position(|remote| same_network(own.ip, *remote, own.prefix)) {
            Some(at) => pairs.push(Pair { local, remote: free_remotes.remove(at) }),
            None => free_locals.push(local),
        }
    }
    // A rail whose network the peer is in, only with fewer rails, shares the peer's rail there.
    free_locals.retain(|local| {
        let own = locals[*local];
        let shared = remotes.iter().find(|remote| same_network(own.ip, **remote, own.prefix));
        pairs.extend(shared.map(|remote| Pair { local: *local, remote: *remote }));
        shared.is_none()
    });
    let mut paired_by_route: Vec<Pair> = Vec::new();
    for local in free_locals {
        let own = locals[local].ip;
        let found = free_remotes.iter().position(|remote| routed(own, *remote));
        paired_by_route.extend(found.map(|at| Pair { local, remote: free_remotes.remove(at) }));
    }
    for remote in free_remotes {
        let local = (0..locals.len()).find(|local| routed(locals[*local].ip, remote));
        paired_by_route.extend(local.map(|local| Pair { local, remote }));
    }
    // Over a route that only seems to be independent, the far rail may be one that is paired already.
    pairs.extend(paired_by_route);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(text: &str) -> Local {
        Local { ip: text.parse().unwrap(), prefix: 24 }
    }

    fn pairs(locals: &[&str], remotes: &[&str], routed: bool) -> Vec<(usize, String)> {
        let locals: Vec<Local> = locals.iter().map(|text| local(text)).collect();
        let remotes: Vec<IpAddr> = remotes.iter().map(|text| text.parse().unwrap()).collect();
        let pairs = pair_with(&locals, &remotes, |a, b| routed && a.is_ipv4() == b.is_ipv4());
        pairs.into_iter().map(|pair| (pair.local, pair.remote.to_string())).collect()
    }

    #[test]
    fn rails_in_the_same_network_meet_whatever_their_order() {
        let got = pairs(&["10.0.1.1", "10.0.2.1"], &["10.0.2.2", "10.0.1.2"], true);
        assert_eq!(got, [(0, "10.0.1.2".into()), (1, "10.0.2.2".into())]);
    }

    #[test]
    fn two_rails_in_one_network_pair_in_order_and_share_a_lone_one() {
        let got = pairs(&["10.0.1.1", "10.0.1.2"], &["10.0.1.3", "10.0.1.4"], true);
        assert_eq!(got, [(0, "10.0.1.3".into()), (1, "10.0.1.4".into())]);
        let got = pairs(&["10.0.1.1", "10.0.1.2"], &["10.0.1.3"], true);
        assert_eq!(got, [(0, "10.0.1.3".into()), (1, "10.0.1.3".into())]);
    }

    #[test]
    fn routed_rails_pair_in_order_and_none_is_left_out() {
        let got = pairs(&["10.0.1.1", "10.0.2.1"], &["10.9.1.1", "10.9.2.1"], true);
        assert_eq!(got, [(0, "10.9.1.1".into()), (1, "10.9.2.1".into())]);
        let got = pairs(&["10.0.1.1"], &["10.9.1.1", "10.9.2.1"], true);
        assert_eq!(got, [(0, "10.9.1.1".into()), (0, "10.9.2.1".into())]);
        assert!(pairs(&["10.0.1.1"], &["10.9.1.1"], false).is_empty());
        assert!(pairs(&["10.0.1.1"], &["fd00::1"], true).is_empty());
    }
}
