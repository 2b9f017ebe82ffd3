//! One engine with its memory.

use fishplate_engine::{Config, Engine, VcId};

use super::memory::Memory;

pub struct Node {
    pub engine: Engine,
    pub memory: Memory,
    /// The virtual channel to each peer; to itself, a loopback.
    pub vcs: Vec<VcId>,
    /// When the next timeout event comes.
    pub timer: Option<u64>,
}

impl Node {
    pub fn new(me: usize, nodes: usize, config: &Config, phantom: bool) -> Node {
        let mut engine = Engine::new(config.clone());
        let open = |peer| if peer == me { engine.open_loopback() } else { engine.open() };
        let vcs = (0..nodes).map(open).collect();
        Node { engine, memory: Memory::new(phantom), vcs, timer: None }
    }

    pub fn peer(&self, vc: VcId) -> usize {
        self.vcs.iter().position(|known| *known == vc).expect("a completion names an unknown channel")
    }
}
