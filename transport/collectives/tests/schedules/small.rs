//! All small cases: every way to put up to six ranks into clusters, every root.

use fishplate_collectives::{Algorithm, Blocks, ClusterMap, Exchange, Operation, Place, Rank, UNLIMITED_WINDOW};

use crate::case::Case;

const MAX_RANKS: usize = 6;
const LENS: [usize; 3] = [0, 1, 7];

/// All partitions of this number of ranks into clusters, with a host for each rank, and, except for the largest number,
/// with hosts that ranks share.
pub fn maps(ranks: usize) -> Vec<ClusterMap> {
    let mut partitions: Vec<Vec<u64>> = vec![Vec::new()];
    for _ in 0..ranks {
        let longer = |partition: &Vec<u64>| {
            let next = partition.iter().max().map_or(0, |last| last + 1);
            (0..=next).map(|cluster| [partition.as_slice(), &[cluster]].concat()).collect::<Vec<_>>()
        };
        partitions = partitions.iter().flat_map(longer).collect();
    }
    let shared = |clusters: &Vec<u64>| {
        let place = |(rank, cluster): (usize, &u64)| Place { cluster: *cluster, host: rank as u64 / 2 };
        ClusterMap::new(&clusters.iter().enumerate().map(place).collect::<Vec<_>>())
    };
    let alone = partitions.iter().map(|clusters| ClusterMap::of_clusters(clusters));
    let with_shared = if ranks < MAX_RANKS { partitions.as_slice() } else { &[] };
    alone.chain(with_shared.iter().map(shared)).collect()
}

fn algorithms() -> impl Iterator<Item = Algorithm> {
    let with = |segments| [Algorithm::Coordinators { segments }, Algorithm::Shared { segments }];
    let direct = [1, 2, UNLIMITED_WINDOW].map(|window| Algorithm::Direct { window });
    [1, 3].into_iter().flat_map(with).chain(direct)
}

/// Checks all algorithms that there are, in different orders; returns how many schedules were run.
fn check(map: &ClusterMap, operation: &Operation, seed: &mut u64) -> usize {
    let mut run = 0;
    for algorithm in algorithms() {
        for mask in [0, 5, u64::MAX] {
            *seed += 1;
            let in_place = |rank: Rank| mask >> rank.0 & 1 == 1;
            // MPI has all ranks of an operation without a root do it in place, or none.
            let mask_fits = mask != 5 || matches!(operation, Operation::Alltoall { .. } | Operation::Allgather { .. });
            if mask_fits {
                let case = Case { map, operation, in_place: &in_place };
                run += usize::from(case.check(algorithm, *seed).is_some());
            }
        }
    }
    run
}

fn check_all(operations: impl Fn(usize) -> Vec<Operation>) {
    let (mut seed, mut run) = (0, 0);
    for ranks in 1..=MAX_RANKS {
        let operations = operations(ranks);
        for map in maps(ranks) {
            run += operations.iter().map(|operation| check(&map, operation, &mut seed)).sum::<usize>();
        }
    }
    assert!(run > 500, "only {run} schedules were run");
}

fn roots(ranks: usize, operation: impl Fn(Rank) -> Vec<Operation>) -> Vec<Operation> {
    (0..ranks).flat_map(|root| operation(Rank(root))).collect()
}

/// Blocks of one length, of different ones in the opposite order with gaps, and with none for some ranks.
fn blocks(ranks: usize) -> Vec<Blocks> {
    let lens: Vec<usize> = (0..ranks).map(|rank| (rank * 5 + 1) % 4).collect();
    let starts = (0..ranks).map(|rank| lens[rank + 1..].iter().map(|len| len + 1).sum()).collect();
    vec![Blocks::equal(ranks, 0), Blocks::equal(ranks, 2), Blocks::placed(lens, starts)]
}

#[test]
fn barriers() {
    check_all(|_| vec![Operation::Barrier]);
}

#[test]
fn broadcasts() {
    check_all(|ranks| roots(ranks, |root| LENS.map(|len| Operation::Broadcast { root, len }).to_vec()));
}

#[test]
fn reductions_to_a_root() {
    let each = |root, len| [false, true].map(|commutative| Operation::Reduce { root, len, commutative });
    check_all(|ranks| roots(ranks, |root| LENS.into_iter().flat_map(|len| each(root, len)).collect()));
}

#[test]
fn reductions_for_all() {
    let each = |len| [false, true].map(|commutative| Operation::Allreduce { len, commutative });
    check_all(|_| LENS.into_iter().flat_map(each).collect());
}

#[test]
fn reductions_of_which_each_gets_a_block() {
    let lens = |ranks: usize| (0..ranks).map(|rank| (rank * 5 + 1) % 4).collect();
    let blocks = |ranks: usize| vec![Blocks::equal(ranks, 0), Blocks::equal(ranks, 2), Blocks::in_a_row(lens(ranks))];
    let each = |blocks: Blocks| {
        [false, true].map(|commutative| Operation::ReduceScatter { blocks: blocks.clone(), commutative })
    };
    check_all(|ranks| blocks(ranks).into_iter().flat_map(each).collect());
}

#[test]
fn gathers_for_all() {
    check_all(|ranks| blocks(ranks).into_iter().map(|blocks| Operation::Allgather { blocks }).collect());
}

#[test]
fn gathers_to_a_root() {
    let each = |root, blocks| Operation::Gather { root, blocks };
    check_all(|ranks| roots(ranks, |root| blocks(ranks).into_iter().map(|blocks| each(root, blocks)).collect()));
}

#[test]
fn scatters() {
    let each = |root, blocks| Operation::Scatter { root, blocks };
    check_all(|ranks| roots(ranks, |root| blocks(ranks).into_iter().map(|blocks| each(root, blocks)).collect()));
}

#[test]
fn exchanges() {
    check_all(|ranks| {
        let equal = [0, 1, 3].map(|len| Exchange::equal(ranks, len));
        // Symmetric, so that it can be in place; blocks are in the opposite order with gaps.
        let lens: Vec<usize> = (0..ranks * ranks).map(|pair| (pair / ranks + pair % ranks) % 3).collect();
        let starts: Vec<usize> = (0..ranks).map(|rank| (ranks - 1 - rank) * 3).collect();
        let placed = Exchange::placed(lens, starts.iter().map(|start| start + 1).collect(), starts);
        equal.into_iter().chain([placed]).map(|exchange| Operation::Alltoall { exchange }).collect()
    });
}

#[test]
fn operands_that_do_not_commute_stay_in_order_or_are_left_to_the_mpi() {
    let interleaved = ClusterMap::of_clusters(&[0, 1, 0]);
    let operation = Operation::Allreduce { len: 3, commutative: false };
    for algorithm in algorithms() {
        let none = fishplate_collectives::schedule(&operation, &interleaved, algorithm, Rank(0), false);
        assert_eq!(none, None);
    }
}
