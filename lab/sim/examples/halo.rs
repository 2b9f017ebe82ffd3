//! A program in GOAL for `fishplate predict`: ranks in a cube, which compute, exchange with their six neighbours, and do so for a number of steps.
//!
//! `cargo run -p fishplate-sim --example halo -- 16 100 > halo.goal`: 16 x 16 x 16 ranks, 100 steps.

use std::env;
use std::io::{self, BufWriter, Write};

/// Bytes to each neighbour in each step.
const BYTES: u64 = 4096;
/// Computation of a step, in nanoseconds.
const COMPUTE_NS: u64 = 100_000;

fn main() -> io::Result<()> {
    let numbers: Vec<u64> = env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [side, steps] = numbers[..] else {
        return Err(io::Error::other("usage: halo SIDE STEPS"));
    };
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "num_ranks {}", side.pow(3))?;
    for rank in 0..side.pow(3) {
        writeln!(out, "rank {rank} {{")?;
        (0..steps).try_for_each(|step| write_step(&mut out, (rank, side), step))?;
        writeln!(out, "}}")?;
    }
    out.flush()
}

fn write_step(out: &mut impl Write, (rank, side): (u64, u64), step: u64) -> io::Result<()> {
    writeln!(out, "c{step}: calc {COMPUTE_NS}")?;
    for direction in 0..6 {
        if step > 0 {
            writeln!(out, "c{step} requires r{}_{direction}\nc{step} requires s{}_{direction}", step - 1, step - 1)?;
        }
        let (peer, opposite) = (neighbour(rank, side, direction), direction ^ 1);
        writeln!(out, "r{step}_{direction}: recv {BYTES}b from {peer} tag {opposite}")?;
        writeln!(out, "s{step}_{direction}: send {BYTES}b to {peer} tag {direction}")?;
        writeln!(out, "r{step}_{direction} requires c{step}\ns{step}_{direction} requires c{step}")?;
    }
    Ok(())
}

/// The rank one further along an axis, forwards or backwards; opposite faces of the cube are neighbours.
fn neighbour(rank: u64, side: u64, direction: u64) -> u64 {
    let stride = side.pow((direction / 2) as u32);
    let at = rank / stride % side;
    let next = if direction.is_multiple_of(2) { (at + 1) % side } else { (at + side - 1) % side };
    rank - at * stride + next * stride
}
