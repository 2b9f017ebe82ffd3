//! Invariant 6: nothing that arrives can panic, and a bad peer costs its own channel only. So nobody who keeps to the
//! protocol is ever blamed or given up. (A panic ends the run, and is reported by who runs it.)

use super::{Oracle, Scene, Seen, must};

pub struct Conduct;

impl Oracle for Conduct {
    fn name(&self) -> &'static str {
        "conduct"
    }

    fn see(&mut self, seen: Seen<'_>, scene: Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Blamed(host, peer, why) => {
                must(!scene.ledger.is_sound(host, peer), || format!("{host} blames {peer}: {why}"))
            }
            Seen::Lost(host, peer) => {
                must(scene.ledger.are_parted(host, peer), || format!("{host} gives {peer} up, which is there"))
            }
            _ => Ok(()),
        }
    }
}
