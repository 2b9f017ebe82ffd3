//! The algorithms of an MPI library within a group of ranks that it treats as equally distant: the textbook ones, with
//! the sizes at which MPICH changes between them. Open MPI uses these algorithms with other sizes.

use super::rank_clocks::{Message, RankClocks};
use crate::map::Rank;

/// Messages from here on are broadcast by a scatter and an allgather (12 KiB), in groups from [`SCATTERED_RANKS`] on.
const SCATTERED_BYTES: f64 = 12_288.0;
const SCATTERED_RANKS: usize = 8;
/// From here on that allgather goes round a ring (512 KiB).
const RING_BROADCAST_BYTES: f64 = 524_288.0;

/// A dissemination: in round k, ranks forward the data of the earlier rounds.
pub fn barrier(clocks: &mut RankClocks, group: &[Rank]) {
    for distance in powers(group.len()) {
        let message = |index: usize| message(group, index, (index + distance) % group.len(), 0.0);
        clocks.round((0..group.len()).map(message));
    }
}

/// All notify the first rank, which then notifies all.
pub fn barrier_through_one(clocks: &mut RankClocks, group: &[Rank]) {
    clocks.round((1..group.len()).map(|index| message(group, index, 0, 0.0)));
    clocks.round((1..group.len()).map(|index| message(group, 0, index, 0.0)));
}

/// Broadcast of `bytes` bytes from the rank at `root`.
pub fn broadcast(clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: f64) {
    let ranks = group.len();
    if bytes < SCATTERED_BYTES || ranks < SCATTERED_RANKS {
        tree_down(clocks, group, root, &|_| bytes);
        return;
    }
    let each = bytes / ranks as f64;
    tree_down(clocks, group, root, &|below| each * below as f64);
    if bytes < RING_BROADCAST_BYTES && ranks.is_power_of_two() {
        doubling(clocks, group, each);
    } else {
        ring(clocks, group, &vec![each; ranks]);
    }
}

/// Reduction of `bytes` bytes to the rank at `root`: `whole` operands go up a tree, or ranks reduce parts first.
pub fn reduce(clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: f64, whole: bool) {
    if whole {
        tree_up(clocks, group, root, &|_| bytes, bytes);
        return;
    }
    let even = fold(clocks, group, bytes);
    halve(clocks, &group[..even], bytes);
    // A root beyond a power of two takes the place of the rank that has its operand.
    gather_halves(clocks, &group[..even], if root < even { root } else { root - even }, bytes);
}

/// Allreduce of `bytes` bytes: ranks exchange `whole` operands, or halves, quarters and so on.
pub fn allreduce(clocks: &mut RankClocks, group: &[Rank], bytes: f64, whole: bool) {
    let even = fold(clocks, group, bytes);
    if whole {
        for distance in powers(even) {
            partners(clocks, &group[..even], distance, bytes);
            group[..even].iter().for_each(|rank| clocks.work(*rank, bytes));
        }
    } else {
        halve(clocks, &group[..even], bytes);
        halves(even, bytes).rev().for_each(|(distance, part)| partners(clocks, &group[..even], distance, part));
    }
    unfold(clocks, group, even, bytes);
}

/// Ranks beyond a power of two send their operands to another rank. Returns the number of the others.
fn fold(clocks: &mut RankClocks, group: &[Rank], bytes: f64) -> usize {
    let even = 1 << group.len().ilog2();
    let beyond = 0..group.len() - even;
    clocks.round(beyond.clone().map(|low| message(group, low + even, low, bytes)));
    beyond.for_each(|low| clocks.work(group[low], bytes));
    even
}

/// These ranks receive the result.
fn unfold(clocks: &mut RankClocks, group: &[Rank], even: usize, bytes: f64) {
    let beyond = 0..group.len() - even;
    clocks.round(beyond.map(|low| message(group, low, low + even, bytes)));
}

/// Bytes that partners exchange at each distance: a half of `bytes`, a quarter, and so on.
fn halves(ranks: usize, bytes: f64) -> impl DoubleEndedIterator<Item = (usize, f64)> {
    powers(ranks).map(move |distance| (distance, bytes / (2 * distance) as f64))
}

/// Reduction of `bytes` bytes, of which each rank keeps a part: partners exchange halves, the nearest ones first, then
/// quarters, and so on. The group is a power of two.
fn halve(clocks: &mut RankClocks, group: &[Rank], bytes: f64) {
    for (distance, part) in halves(group.len(), bytes) {
        partners(clocks, group, distance, part);
        group.iter().for_each(|rank| clocks.work(*rank, part));
    }
}

/// Gathers these parts at the rank at `root`: the farthest partners first, of whom one forwards all its parts.
fn gather_halves(clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: f64) {
    for (distance, part) in halves(group.len(), bytes).rev() {
        let sends = |index: &usize| (distance..2 * distance).contains(&(index ^ root));
        let message = |index: usize| message(group, index, index ^ distance, part);
        clocks.round((0..group.len()).filter(sends).map(message));
    }
}

/// MPI's reduce-scatter, where each rank gets a given part: the farthest exchange first, with half of all; long
/// operands in rounds of pairs.
pub fn reduce_scatter(clocks: &mut RankClocks, group: &[Rank], bytes: f64) {
    /// Operands from this length on (512 KiB).
    const PAIRWISE_BYTES: f64 = 524_288.0;
    if bytes >= PAIRWISE_BYTES {
        let each = bytes / group.len() as f64;
        for distance in 1..group.len() {
            disseminate(clocks, group, distance, each);
            group.iter().for_each(|rank| clocks.work(*rank, each));
        }
        return;
    }
    let even = fold(clocks, group, bytes);
    let mut rest = bytes;
    for distance in powers(even).rev() {
        rest /= 2.0;
        partners(clocks, &group[..even], distance, rest);
        group[..even].iter().for_each(|rank| clocks.work(*rank, rest));
    }
    unfold(clocks, group, even, bytes / group.len() as f64);
}

/// Allgather of a block from each rank, with `bytes` by rank.
pub fn allgather(clocks: &mut RankClocks, group: &[Rank], bytes: &[f64]) {
    /// Up to this total, in groups of a power of two, the gathered data doubles each round (512 KiB).
    const DOUBLED_BYTES: f64 = 524_288.0;
    /// Below this total it is disseminated (80 KiB).
    const DISSEMINATED_BYTES: f64 = 81_920.0;
    let total: f64 = bytes.iter().sum();
    let mean = total / group.len() as f64;
    if total < DOUBLED_BYTES && group.len().is_power_of_two() {
        doubling(clocks, group, mean);
    } else if total < DISSEMINATED_BYTES {
        for distance in powers(group.len()) {
            disseminate(clocks, group, distance, mean * distance.min(group.len() - distance) as f64);
        }
    } else {
        ring(clocks, group, bytes);
    }
}

/// Gather of blocks of `mean` bytes on average to the rank at `root`.
pub fn gather(clocks: &mut RankClocks, group: &[Rank], root: usize, mean: f64) {
    tree_up(clocks, group, root, &|below| mean * below as f64, 0.0);
}

/// Scatter of blocks of `mean` bytes on average from the rank at `root`.
pub fn scatter(clocks: &mut RankClocks, group: &[Rank], root: usize, mean: f64) {
    tree_down(clocks, group, root, &|below| mean * below as f64);
}

/// Linear gather: each rank sends a block of `bytes` bytes directly to the root.
pub fn gather_each(clocks: &mut RankClocks, group: &[Rank], root: Rank, bytes: &dyn Fn(Rank) -> f64) {
    let others = group.iter().filter(|rank| **rank != root && bytes(**rank) > 0.0);
    clocks.round(others.map(|from| Message { from: *from, to: root, bytes: bytes(*from) }));
}

/// Linear scatter: the root sends a block of `bytes` bytes directly to each rank.
pub fn scatter_each(clocks: &mut RankClocks, group: &[Rank], root: Rank, bytes: &dyn Fn(Rank) -> f64) {
    let others = group.iter().filter(|rank| **rank != root && bytes(**rank) > 0.0);
    clocks.round(others.map(|to| Message { from: root, to: *to, bytes: bytes(*to) }));
}

/// Algorithms of an alltoall.
#[derive(Clone, Copy, Debug)]
pub enum Delivery {
    /// Blocks travel together, in a logarithmic number of rounds.
    Together {
        /// Mean size of a block in bytes.
        mean: f64,
    },
    /// All at once.
    AtOnce,
    /// In rounds of pairs.
    InPairs,
}

/// Alltoall: a block of `bytes` bytes from each rank to each rank.
pub fn alltoall(clocks: &mut RankClocks, group: &[Rank], bytes: &dyn Fn(Rank, Rank) -> f64, delivery: Delivery) {
    let ranks = group.len();
    let to = |distance: usize| {
        let to = move |index: usize| (index + distance) % ranks;
        (0..ranks).map(move |index| message(group, index, to(index), bytes(group[index], group[to(index)])))
    };
    match delivery {
        Delivery::Together { mean } => {
            powers(ranks).for_each(|distance| disseminate(clocks, group, distance, mean * ranks as f64 / 2.0));
        }
        Delivery::AtOnce => clocks.round((1..ranks).flat_map(to)),
        Delivery::InPairs => (1..ranks).for_each(|distance| clocks.round(to(distance))),
    }
}

fn message(group: &[Rank], from: usize, to: usize, bytes: f64) -> Message {
    Message { from: group[from], to: group[to], bytes }
}

/// The powers of two below a number.
fn powers(limit: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..usize::BITS)
        .map(|exponent| 1 << exponent)
        .take_while(move |power| *power < limit)
        .collect::<Vec<_>>()
        .into_iter()
}

/// A binomial tree from the root down; `bytes` is a function of the number of ranks at and below the receiver.
fn tree_down(clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: &dyn Fn(usize) -> f64) {
    for distance in powers(group.len()).rev() {
        let messages = tree_round(group, root, distance, bytes);
        clocks.round(messages.iter().map(|(parent, child, bytes)| message(group, *parent, *child, *bytes)));
    }
}

/// A binomial tree up to the root, where each parent processes this number of bytes of each child.
fn tree_up(clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: &dyn Fn(usize) -> f64, work: f64) {
    for distance in powers(group.len()) {
        let messages = tree_round(group, root, distance, bytes);
        clocks.round(messages.iter().map(|(parent, child, bytes)| message(group, *child, *parent, *bytes)));
        messages.iter().for_each(|(parent, ..)| clocks.work(group[*parent], work));
    }
}

/// Parents and children of a round of a binomial tree.
fn tree_round(group: &[Rank], root: usize, distance: usize, bytes: &dyn Fn(usize) -> f64) -> Vec<(usize, usize, f64)> {
    let ranks = group.len();
    let pair = |parent: usize| {
        let child = parent + distance;
        let below = distance.min(ranks - child);
        ((parent + root) % ranks, (child + root) % ranks, bytes(below))
    };
    (0..ranks.saturating_sub(distance)).step_by(2 * distance).map(pair).collect()
}

/// Each sends to the rank at this distance.
fn disseminate(clocks: &mut RankClocks, group: &[Rank], distance: usize, bytes: f64) {
    let message = |index: usize| message(group, index, (index + distance) % group.len(), bytes);
    clocks.round((0..group.len()).map(message));
}

/// Each exchanges with its partner; the group is a power of two.
fn partners(clocks: &mut RankClocks, group: &[Rank], distance: usize, bytes: f64) {
    let message = |index: usize| message(group, index, index ^ distance, bytes);
    clocks.round((0..group.len()).map(message));
}

/// The data of each rank doubles each round; the group is a power of two.
fn doubling(clocks: &mut RankClocks, group: &[Rank], each: f64) {
    powers(group.len()).for_each(|distance| partners(clocks, group, distance, each * distance as f64));
}

/// Each forwards the last received block to the next.
fn ring(clocks: &mut RankClocks, group: &[Rank], bytes: &[f64]) {
    let ranks = group.len();
    for round in 0..ranks - 1 {
        let message = |index: usize| message(group, index, (index + 1) % ranks, bytes[(index + ranks - round) % ranks]);
        clocks.round((0..ranks).map(message));
    }
}
