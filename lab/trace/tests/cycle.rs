//! One iteration of a loop, in place of all of them.

use fishplate_trace::cycle::{Cycle, CycleError};
use fishplate_trace::rank_file::Header;
use fishplate_trace::{Collective, CollectiveKind, Mode, Operation, RankTrace, Receive, Send, Sizes, Step, Trace};

const RANKS: u32 = 4;
const ITERATIONS: u64 = 5;

fn collective(kind: CollectiveKind, sizes: Sizes) -> Operation {
    let (communicator, root, neighbors, request) = (0, None, None, None);
    Operation::Collective(Collective {
        kind,
        communicator,
        root,
        sent: sizes.clone(),
        received: sizes,
        neighbors,
        request,
    })
}

fn exchange(rank: u32, distance: u32) -> Operation {
    let (communicator, tag, request, mode, has_gaps) = (0, 1, None, Mode::Standard, false);
    let (to, from, bytes) = ((rank + distance) % RANKS, Some((rank + RANKS - distance) % RANKS), 1000);
    let send = Send { communicator, to, tag, bytes, mode, has_gaps, request };
    Operation::Exchange(send, Receive { communicator, from, tag: Some(tag), bytes, has_gaps, request })
}

/// A barrier, a transfer, then a loop in which rank 0 does less than the others, then a sum. Calls with computation in ns.
fn calls(rank: u32) -> Vec<(Operation, u64)> {
    let mut calls = vec![
        (Operation::Communicator { number: 0, context: 1, members: (0..RANKS).collect() }, 0),
        (collective(CollectiveKind::Barrier, Sizes::Each(0)), 5_000_000),
        (collective(CollectiveKind::Alltoall, Sizes::Of(vec![1, 2, 3, 4])), 70_000),
    ];
    for iteration in 0..ITERATIONS {
        for distance in if rank == 0 { 1..2 } else { 1..3 } {
            calls.push((exchange(rank, distance), 1_000_000 + 100_000 * iteration));
        }
        calls.push((collective(CollectiveKind::Alltoall, Sizes::Of(vec![iteration; RANKS as usize])), 2_000_000));
        calls.push((collective(CollectiveKind::Allreduce, Sizes::Each(8)), 0));
    }
    calls.push((collective(CollectiveKind::Allreduce, Sizes::Each(16)), 0));
    calls.push((Operation::End, 0));
    calls
}

fn trace(of: impl Fn(u32) -> Vec<(Operation, u64)>) -> Trace {
    let rank = |rank| {
        let calls = of(rank);
        let header = Header::synthetic(rank, RANKS);
        let step =
            |(place, (_, ns)): (u32, &(Operation, u64))| Step { operation: place, processor_ns: *ns, idle_ns: 9 };
        let steps = (0..).zip(&calls).map(step).collect();
        RankTrace { header, operations: calls.into_iter().map(|(one, _)| one).collect(), steps, is_whole: true }
    };
    Trace { ranks: (0..RANKS).map(rank).collect() }
}

#[test]
fn an_iteration_is_found_and_its_times_are_means() {
    let cycle = Cycle::of(&trace(calls), ITERATIONS as u32).unwrap();
    let again = Cycle::decode(&cycle.encode().unwrap()).unwrap();
    assert_eq!(cycle, again);
    assert_eq!([0, 1].map(|rank| again.calls(rank).count()), [3, 4]);
    let repeated = again.repeated(2);
    for (number, rank) in (0..).zip(&repeated.ranks) {
        let all: Vec<&Operation> = rank.steps.iter().map(|step| &rank.operations[step.operation as usize]).collect();
        let once: Vec<Operation> =
            calls(number).into_iter().skip(3).take(cycle.calls(number).count()).map(|(one, _)| one).collect();
        let world = calls(number)[0].0.clone();
        let expected: Vec<&Operation> =
            std::iter::once(&world).chain(&once).chain(&once).chain([&Operation::End]).collect();
        assert_eq!(all, expected);
        let first = rank.steps[1].processor_ns;
        assert!(first.abs_diff(1_200_000) < 2000, "the mean of 1.0 to 1.4 ms: {first}");
        assert!(rank.steps.iter().all(|step| step.idle_ns == 0));
    }
}

#[test]
fn traces_without_a_loop_are_refused() {
    let error = |trace, iterations| Cycle::of(&trace, iterations).unwrap_err();
    let missing = error(trace(calls), 6);
    assert_eq!(missing.to_string(), "nothing is repeated 6 times by all ranks after their last barrier");
    let without = error(trace(|rank| calls(rank).split_off(3)), 2);
    assert_eq!(without, CycleError::NoBarrier(0));
    let whole = Cycle::of(&trace(calls), 5).unwrap().encode().unwrap();
    assert_eq!(Cycle::decode(&whole[..whole.len() - 1]).unwrap_err(), CycleError::NotACycle);
    assert_eq!(Cycle::decode(b"FPCYCLE").unwrap_err(), CycleError::NotACycle);
}
