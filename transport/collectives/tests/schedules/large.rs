//! Large cases, at random.

use fishplate_collectives::{
    Algorithm, Blocks, ClusterMap, Exchange, IntraCluster, Network, Operation, Place, Rank, Wan, choose, schedule,
};
use proptest::prelude::*;

use crate::case::Case;

const MAX_RANKS: usize = 16;

prop_compose! {
    fn maps()(
        places in prop::collection::vec((0u64..5, 0u64..4), 1..MAX_RANKS),
        is_sorted in any::<bool>(),
    ) -> ClusterMap {
        let mut places: Vec<Place> = places.into_iter().map(|(cluster, host)| Place { cluster, host }).collect();
        if is_sorted {
            places.sort();
        }
        ClusterMap::new(&places)
    }
}

/// Blocks with gaps between them, some without anything.
fn blocks(lens: &[usize]) -> Blocks {
    let mut end = 1;
    let start = |len: &usize| {
        end += len + 1;
        end - len - 1
    };
    Blocks::placed(lens.to_vec(), lens.iter().map(start).collect())
}

fn exchange(ranks: usize, lens: &[usize]) -> Exchange {
    // Symmetric, so that it can be in place.
    let len = |one: usize, other: usize| lens[(one * other + one + other) % lens.len()];
    let lens: Vec<usize> = (0..ranks * ranks).map(|pair| len(pair / ranks, pair % ranks)).collect();
    let longest = lens.iter().max().copied().unwrap_or(0);
    let starts: Vec<usize> = (0..ranks).map(|rank| rank * longest).collect();
    Exchange::placed(lens, starts.clone(), starts)
}

fn operation(map: &ClusterMap, kind: usize, root: usize, lens: &[usize], commutative: bool) -> Operation {
    let (root, len) = (Rank(root % map.ranks()), lens.iter().sum());
    let blocks = || blocks(&lens[..map.ranks()]);
    match kind {
        0 => Operation::Barrier,
        1 => Operation::Broadcast { root, len },
        2 => Operation::Reduce { root, len, commutative },
        3 => Operation::Allreduce { len, commutative },
        4 => Operation::Allgather { blocks: blocks() },
        5 => Operation::Gather { root, blocks: blocks() },
        6 => Operation::Scatter { root, blocks: blocks() },
        7 => Operation::ReduceScatter { blocks: Blocks::in_a_row(lens[..map.ranks()].to_vec()), commutative },
        _ => Operation::Alltoall { exchange: exchange(map.ranks(), lens) },
    }
}

prop_compose! {
    fn networks()(
        latency_ns in 1_000u64..100_000,
        rates in prop::array::uniform3(1_000_000u64..10_000_000_000),
        round_trip_ns in 1_000u64..100_000_000,
        shared_bytes_per_s in prop::option::of(1_000_000u64..10_000_000_000),
    ) -> (IntraCluster, Wan) {
        let inside = IntraCluster { latency_ns, bytes_per_s: rates[0], copy_bytes_per_s: rates[1], ..IntraCluster::UNMEASURED };
        (inside, Wan { round_trip_ns, host_bytes_per_s: rates[2], shared_bytes_per_s })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_gives_the_right_result(
        map in maps(),
        (kind, root) in (0usize..9, 0..MAX_RANKS),
        lens in prop::collection::vec(0usize..20, MAX_RANKS),
        (commutative, is_in_place) in any::<(bool, bool)>(),
        (segments, window, seed) in (1u16..6, 1u16..6, any::<u64>()),
    ) {
        let operation = operation(&map, kind, root, &lens, commutative);
        let case = Case { map: &map, operation: &operation, in_place: &|_| is_in_place };
        for algorithm in [Algorithm::Coordinators { segments }, Algorithm::Shared { segments }, Algorithm::Direct { window }] {
            case.check(algorithm, seed);
        }
    }

    #[test]
    fn the_choice_is_modelled_as_faster_than_the_mpi_and_feasible(
        map in maps(),
        (kind, root) in (0usize..9, 0..MAX_RANKS),
        lens in prop::collection::vec(0usize..20, MAX_RANKS),
        commutative in any::<bool>(),
        (inside, wan) in networks(),
        element_bytes in 1usize..100_000,
    ) {
        let operation = operation(&map, kind, root, &lens, commutative);
        let network = Network::uniform(map.cluster_count(), inside, wan);
        let choice = choose(&operation, element_bytes, &map, &network);
        prop_assert_eq!(&choice, &choose(&operation, element_bytes, &map, &network));
        for candidate in &choice.candidates {
            let phases = candidate.phases.iter();
            prop_assert!(phases.clone().all(|phase| phase.time_ns.is_finite() && phase.time_ns >= 0.0), "{candidate:?}");
        }
        if choice.algorithm != Algorithm::Native {
            let time = |algorithm| choice.candidates.iter().find(|c| c.algorithm == algorithm).unwrap().time_ns();
            prop_assert!(time(choice.algorithm) < time(Algorithm::Native));
            let schedule = schedule(&operation, &map, choice.algorithm, Rank(0), false);
            prop_assert!(schedule.is_some());
        }
    }
}
