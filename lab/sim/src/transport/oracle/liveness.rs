//! After all faults have healed, everything completes.

use std::collections::BTreeSet;

use super::{Observation, Scene, must};
use crate::transport::ids::HostId;
use crate::transport::ledger::{Receive, Send, accepts, peer};

#[derive(Default)]
pub struct Progress {
    /// Hosts that have given up others.
    lost: BTreeSet<(HostId, HostId)>,
}

impl Progress {
    pub fn observe(&mut self, observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
        match observation {
            Observation::Endless => Err("it never ends".into()),
            Observation::Lost(host, peer) => {
                self.lost.insert((host, peer));
                Ok(())
            }
            Observation::Settled => nothing_matches(scene).and_then(|()| self.nobody_waits_for_lost_peers(scene)),
            Observation::NotRetired { host, peer } => must(scene.ledger.may_lose_each_other(host, peer), || {
                format!("{host} keeps a connection to {peer} that was to go")
            }),
            Observation::Flooded { from, to, sent, may_wait } => {
                must(sent == may_wait, || format!("{from} sends {sent} messages to {to}, of {may_wait} that may wait"))
            }
            Observation::Finished => all_quiet(scene),
            _ => Ok(()),
        }
    }

    fn nobody_waits_for_lost_peers(&self, scene: Scene<'_>) -> Result<(), String> {
        let ledger = scene.ledger;
        let goes_on = |host: HostId| !ledger.hostile_hosts.contains(&host) && !ledger.closed.contains(&host);
        for (context, receive) in ledger.receives().filter(|(_, receive)| !receive.ended && goes_on(receive.host)) {
            let is_lost = receive.pattern.source.is_some_and(|vc| self.lost.contains(&(receive.host, peer(vc))));
            must(!is_lost, || format!("receive {} waits for a lost peer", context.0))?;
        }
        Ok(())
    }
}

/// When nothing moves any more, no receive waits while a message that it accepts does. (A host that does not keep to the
/// protocol may send the start of a message, and keep the receive that has taken it.)
fn nothing_matches(scene: Scene<'_>) -> Result<(), String> {
    let ledger = scene.ledger;
    let is_open = |send: &Send| {
        send.taken.is_none() && ledger.is_sound(send.from, send.to) && !ledger.may_lose_each_other(send.from, send.to)
    };
    let may_be_kept = |receive: &Receive| {
        let from = receive.pattern.source.map(peer);
        ledger.hostile.is_some_and(|hostile| from.is_none_or(|from| from == hostile))
    };
    let is_waiting = |receive: &Receive| !receive.ended && !receive.multi && !may_be_kept(receive);
    for (context, receive) in ledger.receives().filter(|(_, receive)| is_waiting(receive)) {
        let mut seen = BTreeSet::new();
        for (id, send) in ledger.sends().filter(|(_, send)| send.to == receive.host && is_open(send)) {
            let oldest = seen.insert(send.from);
            let reaches = (oldest || ledger.announces_all) && accepts(&receive.pattern, send.from, send.envelope);
            must(!reaches, || format!("message {} does not reach receive {}", id.0, context.0))?;
        }
    }
    Ok(())
}

fn all_quiet(scene: Scene<'_>) -> Result<(), String> {
    for (at, quiet) in scene.quiet.iter().enumerate() {
        let host = HostId(at);
        let is_over = scene.ledger.hostile_hosts.contains(&host) || scene.ledger.closed.contains(&host);
        must(*quiet || is_over, || format!("the engine of {host} is not quiet"))?;
    }
    Ok(())
}
