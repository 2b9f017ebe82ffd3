//! Which processes belong together: one command can run several MPI programs.

use super::raw::RawRank;

/// Splits processes, in the order of their start, into their worlds.
///
/// A world has a number if its MPI provides one. Among processes with equal numbers and sizes of world, a second
/// process with one rank begins another world: the program was run again.
pub fn split(ranks: Vec<RawRank>) -> Vec<Vec<RawRank>> {
    let mut worlds: Vec<Vec<RawRank>> = Vec::new();
    for rank in ranks {
        let own = &rank.counts;
        let fits = |world: &Vec<RawRank>| {
            let first = &world[0].counts;
            let is_same = first.world == own.world && first.ranks == own.ranks;
            is_same && world.iter().all(|other| other.counts.rank != own.rank)
        };
        match worlds.iter_mut().find(|world| fits(world)) {
            Some(world) => world.push(rank),
            None => worlds.push(vec![rank]),
        }
    }
    for world in &mut worlds {
        world.sort_by_key(|rank| rank.counts.rank);
    }
    worlds
}
