//! Contention inside of a network: exchanges between blocks of a fat tree that has fewer inner links than nodes, with one
//! path to each node and with several over its one port. Bounds count what passes each inner link: the fullest decides.

use std::fmt::Write;
use std::rc::Rc;

use crate::suite::{Benchmark, Machine, Options, run};
use crate::testbed::{Description, Placement, shipped};

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
pub(super) fn append(text: &mut String) {
    text.push_str(
        "# Exchanges of 32 nodes in blocks of 8: how much slower than with 8 links between a block and the others,\n",
    );
    text.push_str("# simulated and as the fullest link allows: displaced rings, alltoall\n");
    let _ = write!(text, "{:>9} {:>6}", "stack", "links");
    DISPLACEMENTS.iter().for_each(|displacement| {
        let _ = write!(text, " {:>10}", format!("ring_{displacement}"));
    });
    let _ = writeln!(text, " {:>10}", "alltoall");
    if let Err(error) = append_lines(text) {
        text.push_str(&error);
    }
}

fn append_lines(text: &mut String) -> Result<(), String> {
    let free = times(FREE.0, FREE.1)?;
    for (stack, paths, links) in STACKS {
        for uplinks in links {
            let _ = write!(text, "{stack:>9} {uplinks:>6}");
            let times = if (stack, *uplinks) == FREE { free.clone() } else { times(stack, *uplinks)? };
            for ((exchange, time), (_, free)) in times.into_iter().zip(&free) {
                let cell = format!("{:.2}/{:.2}", time / free, bound(exchange, *uplinks, paths));
                let _ = write!(text, " {cell:>10}");
            }
            text.push('\n');
        }
    }
    Ok(())
}

/// Time of each exchange, in any unit.
fn times(stack: &str, uplinks: usize) -> Result<Vec<(Exchange, f64)>, String> {
    let description = Description::parse(shipped("fat-tree").ok_or("there is no testbed fat-tree")?)?;
    let description = description.with("rail.ndr.switch.uplinks", &uplinks.to_string())?;
    let (testbed, stack) = (Rc::new(description.testbed()?), stack.to_string());
    let machine = Machine { testbed, stack, placement: Placement::new(NODES as u32, 1, 1), seed: 1 };
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
