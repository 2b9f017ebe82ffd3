//! Traffic between clusters as formulas, against the schedules and against the estimates of the choice.

use fishplate_collectives::{
    Algorithm, Blocks, Candidate, ClusterMap, Exchange, IntraCluster, Library, MAX_SEGMENTS, Network, Operation, Place,
    Rank, UNLIMITED_WINDOW, Wan, choose, schedule,
};

use crate::case::Case;
use crate::machine::Traffic;

const LEN: usize = 24;

fn maps() -> Vec<ClusterMap> {
    let maps: [&[u64]; 5] =
        [&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 1, 0, 1, 0, 1], &[0, 0, 0, 0, 1, 1, 2], &[0, 1, 2, 3], &[0, 1, 1, 1, 1, 1, 1]];
    maps.map(ClusterMap::of_clusters).to_vec()
}

fn traffic(map: &ClusterMap, operation: &Operation, algorithm: Algorithm) -> Traffic {
    let all = (0..6).map(|seed| Case { map, operation, in_place: &|_| false }.check(algorithm, seed).unwrap());
    all.reduce(|one, other| {
        assert_eq!(one, other, "the order decides what crosses");
        one
    })
    .unwrap()
}

/// For every map: the elements that cross, and in how many messages; all in one crossing.
fn crosses(
    operation: impl Fn(&ClusterMap) -> Operation,
    algorithm: Algorithm,
    expected: impl Fn(&ClusterMap) -> (usize, usize),
) {
    for map in maps() {
        let (elements, messages) = expected(&map);
        let found = traffic(&map, &operation(&map), algorithm);
        assert_eq!(found, Traffic { elements, messages, crossings: 1 }, "{algorithm} on {map:?}");
    }
}

const WHOLE: Algorithm = Algorithm::Coordinators { segments: 1 };
const DIRECT: Algorithm = Algorithm::Direct { window: UNLIMITED_WINDOW };

fn others(map: &ClusterMap) -> usize {
    map.cluster_count() - 1
}

/// Ordered pairs of clusters.
fn pairs(map: &ClusterMap) -> usize {
    map.cluster_count() * others(map)
}

#[test]
fn a_barrier_crosses_once_with_a_message_for_each_rank_from_each_other_cluster() {
    crosses(|_| Operation::Barrier, DIRECT, |map| (0, map.ranks() * others(map)));
}

#[test]
fn a_broadcast_crosses_once_to_each_other_cluster() {
    let operation = |_: &ClusterMap| Operation::Broadcast { root: Rank(1), len: LEN };
    crosses(operation, WHOLE, |map| (LEN * others(map), others(map)));
    crosses(operation, Algorithm::Coordinators { segments: 4 }, |map| (LEN * others(map), 4 * others(map)));
    for map in maps() {
        let found = traffic(&map, &operation(&map), Algorithm::Shared { segments: 2 });
        assert_eq!((found.elements, found.crossings), (LEN * others(&map), 1));
    }
}

#[test]
fn reductions_cross_once_from_each_cluster_to_where_the_result_is_made() {
    let reduce = |_: &ClusterMap| Operation::Reduce { root: Rank(1), len: LEN, commutative: true };
    crosses(reduce, WHOLE, |map| (LEN * others(map), others(map)));
    let allreduce = |_: &ClusterMap| Operation::Allreduce { len: LEN, commutative: true };
    crosses(allreduce, WHOLE, |map| (LEN * pairs(map), pairs(map)));
    for map in maps() {
        let shared = Algorithm::Shared { segments: 2 };
        assert_eq!(traffic(&map, &reduce(&map), shared).elements, LEN * others(&map));
        let found = traffic(&map, &allreduce(&map), shared);
        assert_eq!((found.elements, found.crossings), (LEN * pairs(&map), 1));
    }
}

#[test]
fn blocks_cross_once_to_each_cluster_that_needs_them() {
    let allgather = |map: &ClusterMap| Operation::Allgather { blocks: Blocks::equal(map.ranks(), 3) };
    crosses(allgather, WHOLE, |map| (3 * map.ranks() * others(map), pairs(map)));
    let each = |map: &ClusterMap| (3 * map.ranks() * others(map), map.ranks() * others(map));
    crosses(allgather, Algorithm::Shared { segments: 1 }, each);
    let reduce_scatter =
        |map: &ClusterMap| Operation::ReduceScatter { blocks: Blocks::equal(map.ranks(), 3), commutative: true };
    crosses(reduce_scatter, Algorithm::Shared { segments: 1 }, each);
    let far = |map: &ClusterMap| map.ranks() - map.members(map.cluster_of(Rank(1))).len();
    let gather = |map: &ClusterMap| Operation::Gather { root: Rank(1), blocks: Blocks::equal(map.ranks(), 3) };
    crosses(gather, WHOLE, |map| (3 * far(map), others(map)));
    crosses(gather, DIRECT, |map| (3 * far(map), far(map)));
    let scatter = |map: &ClusterMap| Operation::Scatter { root: Rank(1), blocks: Blocks::equal(map.ranks(), 3) };
    crosses(scatter, WHOLE, |map| (3 * far(map), others(map)));
    crosses(scatter, DIRECT, |map| (3 * far(map), far(map)));
}

#[test]
fn an_exchange_crosses_once_in_one_message_between_clusters_or_one_between_ranks() {
    let far_pairs = |map: &ClusterMap| {
        let inside: usize = map.clusters().map(|cluster| map.members(cluster).len().pow(2)).sum();
        map.ranks().pow(2) - inside
    };
    let operation = |map: &ClusterMap| Operation::Alltoall { exchange: Exchange::equal(map.ranks(), 2) };
    crosses(operation, WHOLE, |map| (2 * far_pairs(map), pairs(map)));
    crosses(operation, DIRECT, |map| (2 * far_pairs(map), far_pairs(map)));
}

#[test]
fn shares_of_hosts_are_equal() {
    let map = ClusterMap::of_clusters(&[0, 0, 0, 0, 1, 1, 1, 1]);
    let operation = Operation::Broadcast { root: Rank(0), len: LEN };
    for rank in 0..4 {
        let steps = schedule(&operation, &map, Algorithm::Shared { segments: 1 }, Rank(rank), false).unwrap();
        let sent = steps.steps().iter().filter_map(|step| match step.action {
            fishplate_collectives::Action::Send { to, from, .. } => Some((to, from.len)),
            _ => None,
        });
        assert_eq!(sent.collect::<Vec<_>>(), [(Rank(rank + 4), LEN / 4)]);
    }
}

#[test]
fn no_message_is_cut_into_more_segments_than_there_are_tags() {
    let map = ClusterMap::of_clusters(&[0, 0, 1, 1]);
    let operation = Operation::Broadcast { root: Rank(1), len: 100 };
    let algorithm = Algorithm::Coordinators { segments: u16::MAX };
    assert_eq!(traffic(&map, &operation, algorithm).messages, usize::from(MAX_SEGMENTS));
    let operation = Operation::Broadcast { root: Rank(1), len: 3 };
    assert_eq!(traffic(&map, &operation, algorithm).messages, 3);
}

fn network(clusters: usize) -> Network {
    let inside = IntraCluster { latency_ns: 20_000, bytes_per_s: 125_000_000, ..IntraCluster::UNMEASURED };
    let wan = Wan { round_trip_ns: 2_000_000, host_bytes_per_s: 125_000_000, shared_bytes_per_s: None };
    Network::uniform(clusters, inside, wan)
}

#[test]
fn candidates_state_the_bytes_that_cross() {
    let ranks = |map: &ClusterMap| map.ranks();
    for map in maps() {
        let blocks = || Blocks::equal(ranks(&map), 3);
        let operations = [
            Operation::Barrier,
            Operation::Broadcast { root: Rank(1), len: LEN },
            Operation::Reduce { root: Rank(1), len: LEN, commutative: true },
            Operation::Allreduce { len: LEN, commutative: true },
            Operation::ReduceScatter { blocks: blocks(), commutative: true },
            Operation::Allgather { blocks: blocks() },
            Operation::Gather { root: Rank(1), blocks: blocks() },
            Operation::Scatter { root: Rank(1), blocks: blocks() },
            Operation::Alltoall { exchange: Exchange::equal(ranks(&map), 2) },
        ];
        for (operation, element_bytes) in
            operations.iter().flat_map(|operation| [(operation, 5), (operation, 1_000_000)])
        {
            let choice = choose(operation, element_bytes, &map, &network(map.cluster_count()));
            assert!(choice.candidates.len() > 1, "{operation:?}");
            for candidate in &choice.candidates[1..] {
                let found = traffic(&map, operation, candidate.algorithm);
                let told = (candidate.wan_bytes, candidate.wan_crossings as usize);
                assert_eq!(
                    told,
                    ((element_bytes * found.elements) as u64, found.crossings),
                    "{operation:?} by {}",
                    candidate.algorithm
                );
                // Among three clusters and more, an MPI can have results travel on; that saves bytes and costs crossings.
                let is_least = candidate.wan_bytes <= choice.candidates[0].wan_bytes || map.cluster_count() > 2;
                assert!(is_least, "{operation:?}");
            }
        }
    }
}

#[test]
fn over_hosts_with_many_ranks_what_mpich_was_seen_to_do_counts() {
    // Two clusters of one host with four ranks, 1 ms apart. MPICH 5.0.2 was measured there: a broadcast of 16 KiB takes
    // 1.2 ms and one of 128 KiB 5.4 ms; an allreduce of 1 KiB 2.4 ms.
    let place = |rank: u64| Place { cluster: rank / 4, host: 0 };
    let map = ClusterMap::new(&(0..8).map(place).collect::<Vec<_>>());
    let network = network(2).for_library(Library::Mpich);
    let broadcast = |len| choose(&Operation::Broadcast { root: Rank(0), len }, 1, &map, &network);
    assert_eq!(broadcast(16 << 10).algorithm, Algorithm::Native);
    assert!(matches!(broadcast(128 << 10).algorithm, Algorithm::Coordinators { .. }));
    // Of 4-byte integers: 8 bytes take 1.3 ms.
    assert_eq!(allreduced(2, &map, Library::Mpich), (Algorithm::Native, 1));
    assert_eq!(allreduced(256, &map, Library::Mpich), (WHOLE, 2));
}

#[test]
fn mpich_cuts_operands_as_soon_as_there_is_an_element_for_each_rank() {
    // MPICH 5.0.2 over eight hosts, 4-byte integers: 16 bytes take 1.5 ms, 32 bytes 3.0.
    let of_mpich = |len| allreduced(len, &hosts_in_two(8), Library::Mpich);
    assert_eq!(of_mpich(4), (Algorithm::Native, 1));
    let (algorithm, crossings) = of_mpich(8);
    assert!(algorithm != Algorithm::Native && crossings == 2, "{algorithm}");
    assert_eq!(allreduced(8, &hosts_in_two(8), Library::Other), (Algorithm::Native, 1));
}

/// The choice for an allreduce of 4-byte integers, and the crossings of the MPI's own algorithm.
fn allreduced(len: usize, map: &ClusterMap, library: Library) -> (Algorithm, u32) {
    let choice = choose(&Operation::Allreduce { len, commutative: true }, 4, map, &network(2).for_library(library));
    (choice.algorithm, choice.candidates[0].wan_crossings)
}

/// Two clusters of hosts with one rank each; `ranks` in all.
fn hosts_in_two(ranks: usize) -> ClusterMap {
    let place = |rank: usize| Place { cluster: (rank * 2 / ranks) as u64, host: rank as u64 };
    ClusterMap::new(&(0..ranks).map(place).collect::<Vec<_>>())
}

#[test]
fn mpich_s_long_reductions_cross_twice_and_no_byte_more_than_needed() {
    // Ranks halve with the nearest first (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    // Operations in MPICH", 2005, section 4.5): an eighth of each crosses. Going back, as much to all, half of it to a
    // root.
    let network = network(2).for_library(Library::Mpich);
    let native = |operation: &Operation| choose(operation, 1, &hosts_in_two(8), &network).candidates[0].clone();
    let allreduce = native(&Operation::Allreduce { len: 1 << 20, commutative: true });
    assert_eq!((allreduce.wan_bytes, allreduce.wan_crossings), (2 << 20, 2));
    let reduce = native(&Operation::Reduce { root: Rank(3), len: 1 << 20, commutative: true });
    assert_eq!((reduce.wan_bytes, reduce.wan_crossings), (3 << 19, 2));
}

#[test]
fn reductions_that_go_up_a_tree_whole_are_left_to_it() {
    // Open MPI 5.0.11 over eight hosts: 16 KiB take 1.5 ms at the root, with a schedule 1.9.
    let reduced = |root, library| {
        let operation = Operation::Reduce { root: Rank(root), len: 16 << 10, commutative: true };
        choose(&operation, 1, &hosts_in_two(8), &network(2).for_library(library)).algorithm
    };
    assert_eq!(reduced(0, Library::Other), Algorithm::Native);
    assert_ne!(reduced(3, Library::Other), Algorithm::Native, "from there the tree crosses twice");
    assert_ne!(reduced(0, Library::Mpich), Algorithm::Native);
}

#[test]
fn barriers_whose_ranks_exchange_in_pairs_are_left_to_the_mpi() {
    // Eight hosts on two cores: Open MPI 5.0.11 takes 1.38 ms by itself, 1.48 with a schedule.
    let barrier = |ranks, library| {
        let choice = choose(&Operation::Barrier, 1, &hosts_in_two(ranks), &network(2).for_library(library));
        (choice.algorithm == Algorithm::Native, choice.candidates[0].wan_crossings)
    };
    assert_eq!(barrier(8, Library::Other), (true, 1));
    assert_eq!(barrier(6, Library::Other), (false, 2), "there all go through one rank");
    assert_eq!(barrier(64, Library::Other), (false, 2), "there they disseminate");
    assert_eq!(barrier(8, Library::Mpich), (false, 2));
}

#[test]
fn blocks_that_open_mpi_sends_all_at_once_are_left_to_it() {
    // Open MPI 5.0.11 over eight hosts, blocks of 8 bytes: 2.0 ms by itself and with a schedule.
    let all_to_all = |ranks, len, library| {
        let operation = Operation::Alltoall { exchange: Exchange::equal(ranks, len) };
        let choice = choose(&operation, 1, &hosts_in_two(ranks), &network(2).for_library(library));
        (choice.algorithm == Algorithm::Native, choice.candidates[0].wan_crossings)
    };
    assert_eq!(all_to_all(8, 8, Library::Other), (true, 1));
    assert_eq!(all_to_all(16, 8, Library::Other), (false, 2), "there blocks travel together");
    assert_eq!(all_to_all(16, 1024, Library::Other), (true, 1));
    assert_eq!(all_to_all(8, 8, Library::Mpich), (false, 2));
}

#[test]
fn hosts_share_long_operands_even_over_one_link_for_all() {
    let chosen = |len, shared_bytes_per_s| {
        let wan = Wan { round_trip_ns: 2_000_000, host_bytes_per_s: 125_000_000, shared_bytes_per_s };
        let network = Network::uniform(2, IntraCluster::UNMEASURED, wan);
        choose(&Operation::Allreduce { len, commutative: true }, 1, &hosts_in_two(8), &network)
    };
    assert!(matches!(chosen(128 << 10, None).algorithm, Algorithm::Shared { .. }));
    let long = chosen(1 << 20, None);
    assert_eq!(long.algorithm, Algorithm::Native);
    assert!(long.why.contains("if the hosts of a cluster share one link"), "{}", long.why);
    assert!(matches!(chosen(1 << 20, Some(500_000_000)).algorithm, Algorithm::Shared { .. }), "they are known not to");
}

#[test]
fn one_host_crosses_for_all_where_all_reach_no_more() {
    let chosen = |operation: &Operation, shared_bytes_per_s| {
        let wan = Wan { round_trip_ns: 2_000_000, host_bytes_per_s: 110_000_000, shared_bytes_per_s };
        let inside = IntraCluster {
            bytes_per_s: 600_000_000,
            shared_bytes_per_s: Some(700_000_000),
            ..IntraCluster::UNMEASURED
        };
        let network = Network::uniform(2, inside, wan).for_library(Library::Mpich);
        choose(operation, 1, &hosts_in_two(8), &network)
    };
    let (alone, all) = (Some(110_000_000), Some(440_000_000));
    let broadcast = Operation::Broadcast { root: Rank(0), len: 128 << 10 };
    assert!(matches!(chosen(&broadcast, alone).algorithm, Algorithm::Coordinators { .. }));
    assert!(matches!(chosen(&broadcast, all).algorithm, Algorithm::Shared { .. }));
    // What MPICH's own takes there: an allgather of 128 KiB 9.8 ms, shared 10.5; an allreduce of 1 MiB 19, shared 27.
    let allgather = Operation::Allgather { blocks: Blocks::equal(8, 128 << 10) };
    let allreduce = Operation::Allreduce { len: 1 << 20, commutative: true };
    for operation in [allgather, allreduce] {
        let choice = chosen(&operation, alone);
        assert_eq!(choice.algorithm, Algorithm::Native, "{operation:?}");
        let is_cut =
            |candidate: &Candidate| matches!(candidate.algorithm, Algorithm::Shared { segments } if segments > 1);
        assert!(!choice.candidates.iter().any(is_cut), "its segments would flood the link");
    }
}

#[test]
fn ranks_that_exchange_directly_keep_the_wan_busy_and_do_not_flood_it() {
    // Two clusters of one host with four ranks; 250 kB fit into a round trip.
    let place = |rank: u64| Place { cluster: rank / 4, host: 0 };
    let map = ClusterMap::new(&(0..8).map(place).collect::<Vec<_>>());
    let direct = |len, network: &Network| {
        let choice = choose(&Operation::Alltoall { exchange: Exchange::equal(8, len) }, 1, &map, network);
        choice.candidates.into_iter().find(|candidate| matches!(candidate.algorithm, Algorithm::Direct { .. })).unwrap()
    };
    // 125 kB are under way in one direction, and as much in the answers' time.
    let near = network(2);
    assert_eq!(direct(20_000, &near).algorithm, DIRECT);
    assert_eq!(direct(30_000, &near).algorithm, Algorithm::Direct { window: 3 });
    let large = direct(1 << 20, &near);
    assert_eq!((large.algorithm, large.wan_crossings), (Algorithm::Direct { window: 1 }, 3));
    let far = Network::uniform(2, IntraCluster::UNMEASURED, TEN_TIMES_AS_FAR);
    assert_eq!(direct(200_000, &far).algorithm, DIRECT);
    assert_eq!(direct(300_000, &far).algorithm, Algorithm::Direct { window: 3 });
}

const TEN_TIMES_AS_FAR: Wan =
    Wan { round_trip_ns: 20_000_000, host_bytes_per_s: 125_000_000, shared_bytes_per_s: None };
