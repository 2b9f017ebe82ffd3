//! Contention inside of a network: exchanges between blocks of a fat tree that has fewer inner links than nodes, with one
//! path to each node and with several over its one port. Bounds count what passes each inner link: the fullest decides.

use super::{Table, row};
use crate::suite::{Benchmark, Options, run};
use crate::testbed::Machine;

const NODES: usize = 32;
/// Nodes of a block of the testbed.
const BLOCK: usize = 8;
/// Stacks of the testbed, how many paths to a node they use, and links of a block to others.
const STACKS: [(&str, usize, &[usize]); 2] = [("one-path", 1, &[1, 2, 4, 6, 8]), ("virtual", 3, &[4, 6])];
/// The stack and the links to which all others are compared: as many links as nodes.
const FREE: (&str, usize) = ("one-path", BLOCK);
/// Paths that the testbed has over a port.
const PATHS: usize = 3;
/// How far the ring is displaced: half of a block, a block, two.
const DISPLACEMENTS: [usize; 3] = [4, 8, 16];

/// An exchange among all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    /// Each sends to the one at this distance.
    Ring(usize),
    /// Each sends to each, one after the other.
    Alltoall,
}

/// Lines for each stack and number of links.
pub(super) fn table() -> Table {
    let about = "# Exchanges of 32 nodes in blocks of 8: how much slower than with 8 links between a block and the others,\n\
                 # simulated and as the fullest link allows: displaced rings, alltoall\n";
    Table { about, widths: &[9, 6, 10], rows: rows().unwrap_or_else(|error| vec![vec![error]]) }
}

fn rows() -> Result<Vec<Vec<String>>, String> {
    let rings = DISPLACEMENTS.iter().map(|displacement| format!("ring_{displacement}"));
    let mut rows = vec![row(["stack", "links"].map(String::from), rings.chain(["alltoall".into()]))];
    let free = times(FREE.0, FREE.1)?;
    for (stack, paths, links) in STACKS {
        for uplinks in links {
            let times = if (stack, *uplinks) == FREE { free.clone() } else { times(stack, *uplinks)? };
            let cells = times.into_iter().zip(&free).map(|((exchange, time), (_, free))| {
                format!("{:.2}/{:.2}", time / free, bound(exchange, *uplinks, paths))
            });
            rows.push(row([stack.into(), uplinks.to_string()], cells));
        }
    }
    Ok(rows)
}

/// Time of each exchange, in any unit.
fn times(stack: &str, uplinks: usize) -> Result<Vec<(Exchange, f64)>, String> {
    let uplinks = ("rail.ndr.switch.uplinks", &*uplinks.to_string());
    let machine = Machine::shipped("fat-tree", &[uplinks], (NODES as u32, 1), 1)?.with_stack(stack);
    let options = Options { size: 2 << 20, window: 2, iterations: 1, warmup: 0, ..Options::default() };
    let rates = run(&machine, Benchmark::DisplacedRing, &options)?.parts;
    let slowest = |displacement: usize| {
        let of = rates.iter().filter(|(of, _)| *of == displacement as u64);
        of.map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min)
    };
    let mut times: Vec<_> =
        DISPLACEMENTS.map(|displacement| (Exchange::Ring(displacement), 1.0 / slowest(displacement))).into();
    times.push((Exchange::Alltoall, run(&machine, Benchmark::Alltoall, &options)?.value));
    Ok(times)
}

fn bound(exchange: Exchange, uplinks: usize, paths: usize) -> f64 {
    match exchange {
        Exchange::Ring(displacement) => fullest(uplinks, paths, |node| (node + displacement) % NODES),
        // A step for each partner: in each of them all wait for the fullest link.
        Exchange::Alltoall => {
            let steps = (1..NODES).map(|step| fullest(uplinks, paths, |node| node ^ step));
            steps.sum::<f64>() / (NODES - 1) as f64
        }
    }
}

/// Messages on the fullest link, of an exchange in which each node has one, cut evenly over its paths; at least the one of
/// a node's own link.
fn fullest(uplinks: usize, paths: usize, to: impl Fn(usize) -> usize) -> f64 {
    let mut carried = vec![0; 2 * NODES / BLOCK * uplinks];
    for (node, path) in (0..NODES).flat_map(|node| (0..paths).map(move |path| (node, path))) {
        let to = to(node);
        let crossbar = (to + path * uplinks / PATHS) % uplinks;
        let (up, down) = (node / BLOCK, NODES / BLOCK + to / BLOCK);
        if node / BLOCK != to / BLOCK {
            [up, down].into_iter().for_each(|block| carried[block * uplinks + crossbar] += 1);
        }
    }
    let most = carried.into_iter().max().unwrap_or(0);
    (f64::from(most) / paths as f64).max(1.0)
}
