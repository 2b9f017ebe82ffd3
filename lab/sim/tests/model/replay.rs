//! Recorded programs on modelled machines.

use std::sync::Arc;

use fishplate_sim::models::time::Time;
use fishplate_sim::mpi::chain::{Part, Spent};
use fishplate_sim::replay::{Computation, Outcome, export, graph, run};
use fishplate_sim::testbed::Machine;
use fishplate_trace::rank_file::Header;
use fishplate_trace::{
    Collective, CollectiveKind, Completed, Epoch, Mode, Operation, RankTrace, Receive, Send, Sizes, Step, Trace,
};

const PLAIN: Computation = Computation { with_idle: false, scale: 1.0, processors: None };

/// A rank that computes 10 us before each of these.
fn rank(number: u32, ranks: u32, operations: Vec<Operation>) -> RankTrace {
    let world = Operation::Communicator { number: 0, context: 5, members: (0..ranks).collect() };
    let operations: Vec<Operation> = std::iter::once(world).chain(operations).chain([Operation::End]).collect();
    let step = |operation| Step { operation, processor_ns: 10_000, idle_ns: 5_000 };
    let header = Header { host: format!("node{number}"), ..Header::synthetic(number, ranks) };
    let steps = (0..operations.len() as u32).map(step).collect();
    RankTrace { header, operations, steps, is_whole: true }
}

fn program(ranks: u32, of: impl Fn(u32) -> Vec<Operation>) -> Arc<Trace> {
    Arc::new(Trace { ranks: (0..ranks).map(|number| rank(number, ranks, of(number))).collect() })
}

/// Two rails of 2 x 400 Gbit/s.
fn machine(ranks: u32, per_node: u32) -> Machine {
    machine_of("ib-2x400", ranks, per_node)
}

fn machine_of(testbed: &str, ranks: u32, per_node: u32) -> Machine {
    Machine::shipped(testbed, &[], (ranks, per_node), 1).unwrap()
}

fn replayed(trace: &Arc<Trace>, per_node: u32) -> Outcome {
    on("ib-2x400", trace, per_node)
}

/// What the run time was spent on is always the run time.
fn on(testbed: &str, trace: &Arc<Trace>, per_node: u32) -> Outcome {
    let outcome = run(&machine_of(testbed, trace.ranks.len() as u32, per_node), trace, PLAIN).unwrap();
    let spent = |spent: Spent| spent.into_iter().fold(Time::default(), |sum, part| sum + part);
    assert_eq!(spent(outcome.path.spent), outcome.run, "{outcome:?}");
    for piece in &outcome.path.pieces {
        assert_eq!(spent(piece.spent), piece.until);
    }
    outcome
}

fn send(to: u32, tag: i32, bytes: u64, request: Option<u32>) -> Operation {
    let (communicator, mode, has_gaps) = (0, Mode::Standard, false);
    Operation::Send(Send { communicator, to, tag, bytes, mode, has_gaps, request })
}

fn receive(from: Option<u32>, tag: Option<i32>, bytes: u64, request: Option<u32>) -> Operation {
    Operation::Receive(Receive { communicator: 0, from, tag, bytes, has_gaps: false, request })
}

fn wait(requests: &[u32]) -> Operation {
    Operation::Wait(
        requests.iter().map(|request| Completed { request: *request, source: None, is_cancelled: false }).collect(),
    )
}

fn collective(kind: CollectiveKind, bytes: u64, request: Option<u32>) -> Operation {
    let root = matches!(kind, CollectiveKind::Broadcast | CollectiveKind::Reduce).then_some(0);
    let (sent, received) = (Sizes::Each(bytes), Sizes::Each(bytes));
    Operation::Collective(Collective { kind, communicator: 0, root, sent, received, neighbors: None, request })
}

fn us(outcome: &Outcome) -> f64 {
    outcome.run.as_ns() / 1e3
}

#[test]
fn computation_takes_what_it_took() {
    let trace = program(2, |_| vec![]);
    let outcome = replayed(&trace, 1);
    assert!((us(&outcome) - 20.0).abs() < 0.01 && outcome.communication().as_ns() < 1.0, "{outcome:?}");
    let with = |with_idle, scale| {
        us(&run(&machine(2, 1), &trace, Computation { with_idle, scale, processors: None }).unwrap())
    };
    assert!((with(true, 1.0) - 30.0).abs() < 0.01 && (with(false, 0.5) - 10.0).abs() < 0.01);
}

#[test]
fn ranks_that_share_processors_compute_in_turn() {
    // Each computes for 20 us, 10 us at a time.
    let trace = program(4, |_| vec![]);
    let with = |processors| us(&run(&machine(4, 1), &trace, Computation { processors, ..PLAIN }).unwrap());
    let (own, four, two, one) = (with(None), with(Some(4)), with(Some(2)), with(Some(1)));
    assert!((own - 20.0).abs() < 0.1 && own == four, "{own} {four}");
    assert!((two - 40.0).abs() < 0.2 && (one - 80.0).abs() < 0.4, "{two} {one}");
}

#[test]
fn a_message_takes_what_its_length_takes() {
    let of = |bytes| {
        replayed(
            &program(2, |rank| {
                vec![if rank == 0 { send(1, 3, bytes, None) } else { receive(Some(0), Some(3), bytes, None) }]
            }),
            1,
        )
    };
    let (short, long) = (us(&of(8)), us(&of(10_000_000)));
    // Two rails of 400 Gbit/s: 100 us.
    assert!(short > 20.0 && short < 35.0 && (long - short - 100.0).abs() < 30.0, "{short} {long}");
}

#[test]
fn who_waits_for_whom_is_as_in_the_trace() {
    // Rank 1 computes five times as long before it sends.
    let trace = program(2, |rank| match rank {
        0 => vec![receive(None, None, 8, Some(4)), wait(&[4])],
        _ => vec![wait(&[]), wait(&[]), wait(&[]), wait(&[]), send(0, 9, 8, None)],
    });
    let outcome = replayed(&trace, 1);
    let waited = outcome.ranks[0].end - outcome.ranks[0].computed;
    assert!(waited.as_ns() > 20_000.0 && us(&outcome) < 90.0, "{outcome:?}");
}

#[test]
fn messages_of_different_communicators_do_not_match() {
    let other = |context| Operation::Communicator { number: 1, context, members: vec![1, 0] };
    let on = |communicator, request| {
        Operation::Receive(Receive { communicator, from: Some(0), tag: Some(1), bytes: 8, has_gaps: false, request })
    };
    let trace = |receiver: Vec<Operation>| {
        program(2, move |rank| if rank == 0 { vec![other(6), send(1, 1, 8, None)] } else { receiver.clone() })
    };
    assert!(run(&machine(2, 1), &trace(vec![other(6), on(0, None)]), PLAIN).is_ok());
    let error = run(&machine(2, 1), &trace(vec![other(6), on(1, None)]), PLAIN).unwrap_err();
    assert_eq!(error, "ranks wait for ever: rank 1 in call 3 of 4: receives from rank 0 with tag 1");
}

#[test]
fn a_deadlock_names_both_sides() {
    let both = |rank: u32| vec![receive(Some(1 - rank), Some(2), 8, Some(3)), wait(&[3])];
    let error = run(&machine(2, 1), &program(2, both), PLAIN).unwrap_err();
    assert_eq!(
        error,
        "ranks wait for ever: rank 0 in call 3 of 4: waits for 1 (requests 3, of which one receives from rank 1 with tag \
         2); rank 1 in call 3 of 4: waits for 1 (requests 3, of which one receives from rank 0 with tag 2)"
    );
    let few = run(&machine(4, 1), &program(2, both), PLAIN).unwrap_err();
    assert_eq!(few, "the program has 2 ranks, the machine is for 4");
}

#[test]
fn collective_operations_in_different_orders_are_named() {
    let one_of_each = |rank: u32| {
        let (waits, goes_on) =
            (collective(CollectiveKind::Barrier, 0, None), collective(CollectiveKind::Allreduce, 8, Some(1)));
        if rank == 0 { vec![goes_on, waits, wait(&[1])] } else { vec![waits, goes_on, wait(&[1])] }
    };
    assert_eq!(
        run(&machine(3, 1), &program(3, one_of_each), PLAIN).unwrap_err(),
        "ranks call the collective operations of a communicator in different orders, which MPI does not allow, so this cannot \
         be replayed (calls that failed are left out): call 2 of rank 0 is allreduce, and call 2 of rank 1 is barrier"
    );
}

#[test]
fn every_collective_operation_ends_on_any_number_of_ranks() {
    use CollectiveKind::*;
    let kinds =
        [Barrier, Broadcast, Gather, Scatter, Allgather, Alltoall, Reduce, Allreduce, ReduceScatter, Scan, Make];
    for ranks in [1, 2, 3, 4, 6, 8] {
        for per_node in [1, 2, 4] {
            for bytes in [0, 8, 5000, 100_000] {
                let blocking = |_| kinds.map(|kind| collective(kind, bytes, None)).to_vec();
                let immediate = |_| {
                    let all = kinds.iter().zip(0..).map(|(kind, slot)| collective(*kind, bytes, Some(slot)));
                    let slots: Vec<u32> = (0..kinds.len() as u32).collect();
                    all.chain([wait(&slots)]).collect()
                };
                for trace in [program(ranks, blocking), program(ranks, immediate)] {
                    let outcome = run(&machine(ranks, per_node), &trace, PLAIN);
                    assert!(outcome.is_ok(), "{ranks} ranks, {per_node} on a node, {bytes} B: {outcome:?}");
                }
            }
        }
    }
}

#[test]
fn operations_with_a_size_for_each_rank_end() {
    let lens = [1000, 0, 70_000];
    let each = |rank: u32| Sizes::Each(lens[rank as usize]);
    let to = |from: u32, to: u32| u64::from(from * 3 + to) * 10_000;
    for kind in [CollectiveKind::Alltoall, CollectiveKind::Allgather, CollectiveKind::Gather, CollectiveKind::Scatter] {
        let trace = program(3, |rank| {
            let (sent, received) = match kind {
                CollectiveKind::Alltoall => (
                    Sizes::Of((0..3).map(|other| to(rank, other)).collect()),
                    Sizes::Of((0..3).map(|other| to(other, rank)).collect()),
                ),
                CollectiveKind::Scatter => (Sizes::Of(lens.to_vec()), each(rank)),
                _ => (each(rank), Sizes::Of(lens.to_vec())),
            };
            let root = matches!(kind, CollectiveKind::Gather | CollectiveKind::Scatter).then_some(1);
            let (communicator, neighbors, request) = (0, None, None);
            vec![Operation::Collective(Collective { kind, communicator, root, sent, received, neighbors, request })]
        });
        let outcome = run(&machine(3, 1), &trace, PLAIN);
        assert!(outcome.is_ok(), "{kind:?}: {outcome:?}");
    }
}

#[test]
fn what_groups_do_together_takes_no_time() {
    let trace = program(2, |rank| {
        let other = Operation::Communicator { number: 1, context: 0, members: vec![1 - rank] };
        let Operation::Collective(barrier) = collective(CollectiveKind::Barrier, 0, None) else { unreachable!() };
        vec![other, Operation::Collective(Collective { communicator: 1, ..barrier })]
    });
    assert!((us(&replayed(&trace, 1)) - 40.0).abs() < 0.01);
}

#[test]
fn neighbours_exchange() {
    let trace = program(4, |rank| {
        let neighbors = Some((vec![(rank + 3) % 4, u32::MAX], vec![(rank + 1) % 4, u32::MAX]));
        let (sent, received) = (Sizes::Of(vec![5000, 1]), Sizes::Of(vec![5000, 1]));
        let (kind, communicator, root) = (CollectiveKind::NeighborAlltoall, 0, None);
        let request = None;
        vec![Operation::Collective(Collective { kind, communicator, root, sent, received, neighbors, request })]
    });
    assert!(us(&replayed(&trace, 1)) > 20.0);
}

#[test]
fn collective_operations_under_way_are_waited_for_in_any_order() {
    // Over TCP, where nobody looks at the network while a rank computes.
    let trace = program(3, |rank| {
        let kinds = [CollectiveKind::Allreduce, CollectiveKind::Broadcast, CollectiveKind::Barrier];
        let begin = (0..).zip(kinds).map(|(request, kind)| collective(kind, 1000, Some(request)));
        let order = |turn: u32| (0..3).map(move |at| wait(&[(at + rank + turn) % 3]));
        let turn = |number| begin.clone().chain(order(number));
        (0..4).flat_map(turn).collect()
    });
    assert!(us(&on("eth-100g-wan", &trace, 1)) > 4.0 * 60.0);
}

#[test]
fn buffers_of_communicators_are_waited_for_apart() {
    // What is in the first one's goes only when it is received, which is after the second one's is empty.
    let trace = program(2, |rank| {
        let own = |communicator| Operation::FlushCommunicator { communicator };
        let send = |communicator, bytes, mode| {
            Operation::Send(Send { communicator, to: 1, tag: 3, bytes, mode, has_gaps: false, request: None })
        };
        let receive = |communicator, bytes| {
            let (from, tag) = (Some(0), Some(3));
            Operation::Receive(Receive { communicator, from, tag, bytes, has_gaps: false, request: None })
        };
        let known = (1..3).map(|number| Operation::Communicator {
            number,
            context: 7 + u64::from(number),
            members: vec![0, 1],
        });
        let rest = match rank {
            0 => {
                [own(1), send(1, 8 << 20, Mode::Buffered), own(2), Operation::Flush, send(0, 8, Mode::Standard), own(1)]
                    .to_vec()
            }
            _ => vec![receive(0, 8), receive(1, 8 << 20)],
        };
        known.chain(rest).collect()
    });
    replayed(&trace, 1);
    on("eth-100g-wan", &trace, 1);
}

fn synchronous(to: u32, bytes: u64, request: Option<u32>) -> Operation {
    let (communicator, tag, mode, has_gaps) = (0, 3, Mode::Synchronous, false);
    Operation::Send(Send { communicator, to, tag, bytes, mode, has_gaps, request })
}

#[test]
fn a_synchronous_send_waits_until_it_is_received() {
    // Rank 1 receives after 50 us, and then both compute for 20 us.
    let late = |bytes, request: Option<u32>| {
        program(2, move |rank| match (rank, request) {
            (0, None) => vec![synchronous(1, bytes, None), wait(&[])],
            (0, Some(slot)) => vec![synchronous(1, bytes, request), wait(&[slot]), wait(&[])],
            _ => vec![wait(&[]), wait(&[]), wait(&[]), receive(None, None, bytes, None)],
        })
    };
    for testbed in ["ib-2x400", "emulated"] {
        for bytes in [0, 8, 5000, 1 << 20] {
            for request in [None, Some(1)] {
                let ended = on(testbed, &late(bytes, request), 1).ranks[0].end;
                assert!(ended.as_ns() > 70_000.0, "{testbed}, {bytes} B: {ended:?}");
            }
        }
    }
}

#[test]
fn synchronous_sends_to_each_other_end() {
    let both = program(3, |rank| {
        let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
        let one = vec![receive(Some(before), Some(3), 100, Some(0)), synchronous(next, 100, None), wait(&[0])];
        let itself = vec![receive(None, Some(3), 100, Some(0)), synchronous(rank, 100, Some(1)), wait(&[1, 0])];
        [one, itself].concat()
    });
    for testbed in ["ib-2x400", "emulated"] {
        on(testbed, &both, 1);
    }
}

/// When the ranks come to their ends, in microseconds: of the trace, and of the program in GOAL that it becomes.
fn both_ends(testbed: &str, trace: &Arc<Trace>) -> Vec<(f64, f64)> {
    let machine = machine_of(testbed, trace.ranks.len() as u32, 1);
    let goal = Arc::new(export::goal(&machine, trace, PLAIN).unwrap());
    let (replayed, goal) = (on(testbed, trace, 1), graph::run(&machine, &goal, 1.0).unwrap());
    let ends = replayed.ranks.iter().zip(&goal.ranks);
    ends.map(|(replayed, goal)| (replayed.end.as_ns() / 1e3, goal.end.as_ns() / 1e3)).collect()
}

/// Each rank comes to its end in GOAL when it does in the trace, but for some microseconds.
#[track_caller]
fn assert_near(ends: Vec<(f64, f64)>, most_us: fn(f64) -> f64) {
    for (replayed, goal) in ends {
        assert!((replayed - goal).abs() < most_us(replayed), "{replayed} {goal}");
    }
}

#[test]
fn a_synchronous_send_is_one_in_goal_too() {
    let late = program(2, |rank| match rank {
        0 => vec![synchronous(1, 8, None), wait(&[])],
        _ => vec![wait(&[]), wait(&[]), wait(&[]), receive(Some(0), Some(3), 8, None)],
    });
    let ends = both_ends("ib-2x400", &late);
    assert!(ends[0].1 > 70.0, "{ends:?}");
    assert_near(ends, |_| 5.0);
}

#[test]
fn what_is_sent_in_goal_is_on_its_way_before_what_is_computed_next() {
    let trace = program(2, |rank| match rank {
        0 => vec![send(1, 1, 8, Some(0)), wait(&[]), wait(&[]), wait(&[0])],
        _ => vec![receive(Some(0), Some(1), 8, None)],
    });
    assert_near(both_ends("ib-2x400", &trace), |_| 5.0);
}

#[test]
fn what_comes_in_goal_while_a_rank_computes_last_is_received() {
    // Over TCP, where nobody looks at the network meanwhile.
    let trace = program(2, |rank| match rank {
        0 => vec![synchronous(1, 8, Some(0)), wait(&[]), wait(&[]), wait(&[0])],
        _ => vec![wait(&[]), receive(Some(0), Some(3), 8, None)],
    });
    assert_near(both_ends("emulated", &trace), |us| 0.3 * us);
}

#[test]
fn what_comes_after_a_wait_in_goal_comes_after_all_that_was_before_it() {
    // Rank 0 waits for a send that was complete long before the message that it has received since.
    let trace = program(2, |rank| match rank {
        0 => vec![
            send(1, 1, 8, Some(0)),
            receive(Some(1), Some(2), 8, None),
            wait(&[0]),
            send(1, 3, 8, None),
            receive(Some(1), Some(4), 8, None),
        ],
        _ => vec![
            wait(&[]),
            wait(&[]),
            wait(&[]),
            send(0, 2, 8, None),
            receive(Some(0), Some(1), 8, None),
            receive(Some(0), Some(3), 8, None),
            send(0, 4, 8, None),
        ],
    });
    assert_near(both_ends("ib-2x400", &trace), |_| 5.0);
}

#[test]
fn collective_operations_under_way_are_beside_the_program_in_goal_too() {
    // The others are waited for first, on each rank in another order.
    let trace = program(3, |rank| {
        let kinds = [CollectiveKind::Allreduce, CollectiveKind::Broadcast, CollectiveKind::Barrier];
        let begin = (0..).zip(kinds).map(|(request, kind)| collective(kind, 1000, Some(request)));
        let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
        let ring = [receive(Some(before), Some(1), 8, Some(5)), send(next, 1, 8, None), wait(&[5])];
        let order = |turn: u32| (0..3).map(move |at| wait(&[(at + rank + turn) % 3]));
        let turn = |number| begin.clone().chain(ring.clone()).chain(order(number));
        (0..4).flat_map(turn).collect()
    });
    assert_near(both_ends("ib-2x400", &trace), |us| 0.2 * us);
}

#[test]
fn one_sided_operations_are_complete_at_the_end_of_their_epoch() {
    let trace = |bytes| {
        program(2, move |rank| {
            let (target, fence) = (1 - rank, Operation::Epoch { window: 0, kind: Epoch::Fence });
            let flush = Operation::Epoch { window: 0, kind: Epoch::Flush(Some(target)) };
            let put = Operation::OneSided { window: 0, target, written: bytes, read: 0, request: None };
            let get = Operation::OneSided { window: 0, target, written: 0, read: bytes, request: Some(2) };
            vec![fence.clone(), put.clone(), flush, get, wait(&[2]), put, fence]
        })
    };
    let (short, long) = (us(&replayed(&trace(8), 1)), us(&replayed(&trace(1_000_000), 1)));
    assert!(long > short + 20.0, "{short} {long}");
}

/// What the run time was spent on, in microseconds.
fn spent_us(outcome: &Outcome, part: Part) -> f64 {
    outcome.path.spent[part as usize].as_ns() / 1e3
}

#[test]
fn the_critical_path_goes_to_the_rank_that_is_waited_for() {
    // Rank 1 computes five times as long before it sends; rank 0 then computes once.
    let late = program(2, |rank| match rank {
        0 => vec![receive(None, None, 8, Some(4)), wait(&[4])],
        _ => vec![wait(&[]), wait(&[]), wait(&[]), wait(&[]), send(0, 9, 8, None)],
    });
    let outcome = replayed(&late, 1);
    assert!((spent_us(&outcome, Part::Computation) - 70.0).abs() < 1.0, "{:?}", outcome.path);
    assert!(outcome.path.messages == 1 && outcome.path.pieces.iter().any(|piece| piece.rank == 1));
    // Rank 1 is long done, and rank 0 comes late for its message.
    let early = program(2, |rank| match rank {
        0 => vec![wait(&[]), wait(&[]), wait(&[]), receive(Some(1), Some(9), 8, None)],
        _ => vec![send(0, 9, 8, None)],
    });
    for testbed in ["ib-2x400", "emulated"] {
        let outcome = on(testbed, &early, 1);
        assert!((spent_us(&outcome, Part::Computation) - 60.0).abs() < 1.0, "{testbed}: {:?}", outcome.path);
        assert_eq!(outcome.path.messages, 0, "{testbed}: {:?}", outcome.path);
    }
}

#[test]
fn the_critical_path_tells_latency_from_bandwidth() {
    // 100 messages there and back.
    let ping_pong = |bytes| {
        program(2, move |rank| {
            let one = |at: i32| {
                let (to, from) = (send(1 - rank, at, bytes, None), receive(Some(1 - rank), Some(at), bytes, None));
                if rank == 0 { [to, from] } else { [from, to] }
            };
            (0..50).flat_map(one).collect()
        })
    };
    for testbed in ["ib-2x400", "eth-100g-wan", "emulated"] {
        let (short, long) = (on(testbed, &ping_pong(1), 1), on(testbed, &ping_pong(1 << 20), 1));
        let (latency, bandwidth) = (spent_us(&short, Part::Latency), spent_us(&short, Part::Bandwidth));
        // Hosts that are emulated are no distance apart.
        let is_near = testbed == "emulated";
        assert!(is_near || latency > 2.0 * bandwidth, "{testbed}: {:?}", short.path.spent);
        assert_eq!(short.path.messages, 100, "{testbed}");
        // 2 x 10 ms of distance are more than 84 us of bytes.
        let most = if testbed == "eth-100g-wan" { Part::Latency } else { Part::Bandwidth };
        assert!(spent_us(&long, most) > 0.3 * us(&long), "{testbed}: {:?}", long.path.spent);
        assert!(spent_us(&long, Part::Bandwidth) > 20.0 * bandwidth, "{testbed}: {:?}", long.path.spent);
        let carried: u64 = long.rails.rails().iter().flatten().sum();
        assert!((100 << 20..101 << 20).contains(&carried), "{testbed}: {carried}");
    }
}

#[test]
fn the_same_trace_gives_the_same_answer() {
    let trace = program(4, |rank| {
        let (next, before) = ((rank + 1) % 4, (rank + 3) % 4);
        vec![
            receive(Some(before), Some(1), 300_000, Some(0)),
            send(next, 1, 300_000, Some(1)),
            wait(&[0, 1]),
            collective(CollectiveKind::Allreduce, 64, None),
        ]
    });
    assert_eq!(replayed(&trace, 2), replayed(&trace, 2));
}
