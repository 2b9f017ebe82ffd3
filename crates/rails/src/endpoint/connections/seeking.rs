//! Peers to which no rail leads at present: routes, addresses and carriers may still come.

use fishplate_engine::{Instant, VcId};

use crate::discover::survey;
use crate::endpoint::{Endpoint, Rail};

/// How often to look for a way, in nanoseconds: it takes some system calls a pair of addresses.
const LOOK_NS: u64 = 100_000_000;

/// The peers.
#[derive(Debug, Default)]
pub struct SeekingPeers {
    peers: Vec<VcId>,
    next_look: Instant,
}

impl Endpoint {
    /// No rail leads to the peer: that is told, and looked for again until the timeout. At once an error where nothing can come.
    pub(in crate::endpoint) fn seek(&mut self, vc: VcId, now: Instant) {
        let peer = &self.peers[vc.0 as usize];
        let Some(address) = &peer.address else { return };
        let why = if address.rails.iter().all(Vec::is_empty) {
            Some("it is on another host, and has no interface that leads out of there".to_string())
        } else if self.rails.iter().all(|rail| rail.is_loopback) {
            Some(format!("no interface of this node leads to other hosts: {}", self.other_interfaces))
        } else {
            None
        };
        let peer = peer.describe();
        if let Some(why) = why {
            return self.lose_peer(vc, &format!("{peer} is out of reach: {why}"));
        }
        let seconds = self.settings.timeout.as_secs();
        log::warn!("waits for the network, up to {seconds} s: no rail of this node has a route to {peer}");
        self.seeking.peers.push(vc);
        self.seeking.next_look = now.plus_ns(LOOK_NS);
    }

    /// Looks whether there is a way by now.
    pub(in crate::endpoint) fn service_seeking(&mut self, now: Instant) {
        if self.seeking.peers.is_empty() || now < self.seeking.next_look {
            return;
        }
        self.seeking.next_look = now.plus_ns(LOOK_NS);
        self.refresh_addresses();
        for vc in std::mem::take(&mut self.seeking.peers) {
            let peer = &self.peers[vc.0 as usize];
            if !peer.is_sought() || self.begin_attempts(vc, now) {
                continue;
            }
            let peer = &self.peers[vc.0 as usize];
            if now.since_ns(peer.since) < self.settings.timeout.as_nanos() as u64 {
                self.seeking.peers.push(vc);
                continue;
            }
            let own: Vec<String> = self.rails.iter().map(describe).collect();
            let why = format!(
                "{} is out of reach: no rail of this node has a route to it: {}; no rails: {}",
                peer.describe(),
                own.join("; "),
                self.other_interfaces
            );
            self.lose_peer(vc, &why);
        }
    }

    /// Takes note of addresses that rails have got since.
    fn refresh_addresses(&mut self) {
        let Ok(interfaces) = survey(&self.settings.rails) else { return };
        for new in Rail::all(&interfaces) {
            if let Some(rail) = self.rails.iter_mut().find(|rail| rail.index == new.index) {
                rail.addresses = new.addresses;
            }
        }
        self.own_addresses = interfaces.iter().flat_map(|one| &one.addresses).map(|address| address.ip).collect();
    }
}

fn describe(rail: &Rail) -> String {
    let addresses: Vec<String> = rail.addresses.iter().map(|own| format!("{}/{}", own.ip, own.prefix)).collect();
    format!("{} with {}", rail.name, addresses.join(", "))
}
