//! Broadcasts over two clusters, 1 ms apart: how each length is best carried out, and what the ranks do for one of them.
//!
//! `cargo run -p fishplate-collectives --example broadcast` prints
//!
//! ```text
//!       8 bytes: native                       1.02 ms,   1.02 by the MPI alone
//!    8192 bytes: native                       1.10 ms,   1.10 by the MPI alone
//!  131072 bytes: shared                       1.45 ms,   3.17 by the MPI alone
//! 4194304 bytes: shared                      14.47 ms,  49.42 by the MPI alone
//! rank 0 for shared:
//!   scatter among the own cluster
//!   send 32768 bytes to rank 4
//!   allgather among the own cluster
//! rank 1 for shared:
//!   scatter among the own cluster
//!   send 32768 bytes to rank 5
//!   allgather among the own cluster
//! rank 5 for shared:
//!   receive 32768 bytes from rank 1
//!   allgather among the own cluster
//! ```

use fishplate_collectives::{
    Action, Algorithm, ClusterMap, IntraCluster, Library, Local, Network, Operation, Rank, Wan, choose, schedule,
};

fn main() {
    // Ranks 0 to 3 and 4 to 7, each on a host of its own; hosts of a cluster do not share what leads to the other one.
    let map = ClusterMap::of_clusters(&[0, 0, 0, 0, 1, 1, 1, 1]);
    let wan = Wan { round_trip_ns: 2_000_000, host_bytes_per_s: 125_000_000, shared_bytes_per_s: Some(500_000_000) };
    let network = Network::uniform(2, IntraCluster::UNMEASURED, wan).for_library(Library::Mpich);

    for bytes in [8, 8 << 10, 128 << 10, 4 << 20] {
        let operation = Operation::Broadcast { root: Rank(0), len: bytes };
        let choice = choose(&operation, 1, &map, &network);
        let ms = |algorithm| {
            let candidate = choice.candidates.iter().find(|candidate| candidate.algorithm == algorithm);
            candidate.map_or(0.0, |candidate| candidate.time_ns() / 1e6)
        };
        let (best, native) = (ms(choice.algorithm), ms(Algorithm::Native));
        println!("{bytes:7} bytes: {:26} {best:6.2} ms, {native:6.2} by the MPI alone", choice.algorithm.to_string());
    }

    let operation = Operation::Broadcast { root: Rank(0), len: 128 << 10 };
    let algorithm = Algorithm::Shared { segments: 1 };
    for rank in [0, 1, 5].map(Rank) {
        println!("rank {} for {algorithm}:", rank.0);
        let schedule = schedule(&operation, &map, algorithm, rank, false).expect("a broadcast can be shared");
        for step in schedule.steps() {
            println!("  {}", words(&step.action));
        }
    }
}

fn words(action: &Action) -> String {
    match action {
        Action::Send { to, from, .. } => format!("send {} bytes to rank {}", from.len, to.0),
        Action::Receive { from, into, .. } => format!("receive {} bytes from rank {}", into.len, from.0),
        Action::Local(Local::Scatter { .. }) => "scatter among the own cluster".into(),
        Action::Local(Local::Allgather { .. }) => "allgather among the own cluster".into(),
        Action::Local(Local::Broadcast { .. }) => "broadcast among the own cluster".into(),
        other => format!("{other:?}"),
    }
}
