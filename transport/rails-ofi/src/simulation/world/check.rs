//! Conditions at the end of a run.

use fishplate_engine::BounceId;

use super::World;
use crate::simulation::node::place;
use crate::transport::SENDS;

/// Names of copies that are looked at: more than a run has at a time.
const BOUNCES: u32 = 256;

impl World {
    /// Nothing is kept, and no byte outside of granted memory was written.
    pub fn check(&mut self) {
        let seed = self.setup.seed;
        for id in self.accesses.keys().copied().collect::<Vec<_>>() {
            self.end_access(id);
        }
        let network = self.network.borrow();
        assert_eq!(network.registered(), 0, "seed {seed}: memory stays registered");
        for (at, node) in self.nodes.iter().enumerate() {
            assert!(node.engine.is_quiet(), "seed {seed}: engine {at} is not quiet");
            for rail in (0..self.setup.rails).filter(|rail| node.rails[*rail].rail.is_open()) {
                let (made, posted) = network.buffers(place(at, rail));
                assert_eq!(made, posted + SENDS, "seed {seed}: buffers of rail {rail} of node {at} are missing");
            }
            // What had arrived whole from a lost peer stays.
            if node.lost.is_empty() {
                let kept = (0..BOUNCES).filter(|id| !node.bounces.get(BounceId(*id)).is_empty()).count();
                assert_eq!(kept, 0, "seed {seed}: node {at} keeps copies");
            }
        }
        drop(network);
        self.nodes.clear();
        self.arena.borrow().check();
    }
}
