//! The inside of a network: the links between the switches of a fat tree of two tiers, and which of them a path takes.

use std::collections::BTreeMap;

use super::super::schema::{Parts, Switch, Testbed};
use crate::models::network::Network;
use crate::models::path::Place;

/// How the switch blocks of two nodes are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blocks {
    /// One block has both.
    Same,
    /// Two blocks, between which links are never full.
    Apart,
    /// Two blocks, and links that may be full.
    Through(Route),
}

/// A way from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    from: usize,
    crossbar: usize,
    to: usize,
}

/// Links between blocks and crossbars.
pub(super) struct InnerLinks {
    /// By rail, block and crossbar: up and down.
    links: BTreeMap<(usize, usize, usize), [Place; 2]>,
    /// By rail: the one that has its port.
    ports: Vec<usize>,
}

impl Blocks {
    /// A crossbar is chosen by destination, as InfiniBand's switches forward: nodes of a block are spread over all, and so are
    /// paths to one node.
    pub(super) fn between(testbed: &Testbed, rail: usize, from: usize, to: usize) -> Blocks {
        let Some(switch) = switch(testbed, rail) else { return Blocks::Same };
        let Some(nodes) = switch.block_nodes.as_ref().map(|nodes| nodes.value as usize) else { return Blocks::Same };
        match &switch.uplinks {
            _ if from / nodes == to / nodes => Blocks::Same,
            None => Blocks::Apart,
            Some(uplinks) => {
                let (uplinks, (port, path)) = (uplinks.value as usize, testbed.port(rail));
                let crossbar = (to + path * uplinks / testbed.paths(port)) % uplinks;
                Blocks::Through(Route { from: from / nodes, crossbar, to: to / nodes })
            }
        }
    }
}

impl InnerLinks {
    /// Stations for the links of all blocks.
    pub(super) fn new(network: &mut Network, testbed: &Testbed, nodes: usize) -> InnerLinks {
        let ports: Vec<usize> = (0..testbed.rail.len()).map(|rail| testbed.port(rail).0).collect();
        let mut links = BTreeMap::new();
        for rail in (0..ports.len()).filter(|rail| ports[*rail] == *rail) {
            let Some((block, uplinks)) = switch(testbed, rail).and_then(tree) else { continue };
            for (block, crossbar) in
                (0..nodes.div_ceil(block)).flat_map(|block| (0..uplinks).map(move |up| (block, up)))
            {
                links.insert((rail, block, crossbar), [network.add_station(), network.add_station()]);
            }
        }
        InnerLinks { links, ports }
    }

    /// The links of a way, in order.
    pub(super) fn on(&self, rail: usize, Route { from, crossbar, to }: Route) -> [Place; 2] {
        let link = |block| self.links[&(self.ports[rail], block, crossbar)];
        [link(from)[0], link(to)[1]]
    }
}

fn switch(testbed: &Testbed, rail: usize) -> Option<&Switch> {
    match testbed.rail[rail].parts() {
        Some(Parts::Hardware(_, _, _, switch)) => Some(switch),
        _ => None,
    }
}

/// Nodes and links of a block.
fn tree(switch: &Switch) -> Option<(usize, usize)> {
    let (nodes, uplinks) = switch.block_nodes.as_ref().zip(switch.uplinks.as_ref())?;
    Some((nodes.value as usize, uplinks.value as usize))
}
