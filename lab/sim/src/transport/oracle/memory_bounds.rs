//! Invariant 5: memory held for a peer is bounded by what it was granted and asked for, whatever that peer sends.

use super::{Observation, Scene, must};
use crate::transport::ids::HostId;
use crate::transport::memory::InvalidAccess;

pub fn observe(observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
    match observation {
        Observation::Held { host, peer, granted_bytes, requested_bytes, may_request } => {
            let held = scene.memories[host.0].held_for(peer);
            must(requested_bytes <= may_request, || format!("{host} requests {requested_bytes} bytes of {peer}"))?;
            must(held <= granted_bytes, || format!("{host} keeps {held} bytes for {peer}, of {granted_bytes}"))
        }
        // Acknowledgements are meaningless at a host that does not send its engine's frames.
        Observation::InvalidAccess(host, InvalidAccess::Bounce(id)) if !scene.ledger.hostile_hosts.contains(&host) => {
            Err(format!("{host} uses {id:?} out of its life"))
        }
        Observation::Finished => finished(scene),
        _ => Ok(()),
    }
}

/// No memory is used once all messages were received, except for complete messages of a lost peer.
fn finished(scene: Scene<'_>) -> Result<(), String> {
    let hosts = (0..scene.memories.len()).map(HostId);
    for host in hosts.clone().filter(|host| !scene.ledger.hostile_hosts.contains(host)) {
        if hosts.clone().any(|peer| scene.ledger.may_lose_each_other(host, peer)) {
            continue;
        }
        let bounces = scene.memories[host.0].bounces();
        must(bounces == 0, || format!("{host} keeps {bounces} buffers for nothing"))?;
    }
    Ok(())
}
