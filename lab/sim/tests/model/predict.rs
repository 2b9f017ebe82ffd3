//! Machines of papers: their files, and what is found on them.

use std::rc::Rc;

use fishplate_collectives::Algorithm;
use fishplate_sim::mpi::program::{self, Mpi, Task};
use fishplate_sim::reproduce::{Experiments, FACTS, Kind, ROWS, judge, read_facts};
use fishplate_sim::suite::{Benchmark, Options, run, sweep};
use fishplate_sim::testbed::{Description, Machine, SHIPPED};

/// Rows that are quick to find, of all kinds; predictions with numbers among them.
const QUICK: [&str; 6] = ["M1", "M6", "E3", "E8", "W2", "W18"];

#[test]
fn every_number_of_a_testbed_says_where_it_comes_from() {
    for (name, text) in SHIPPED {
        let parameters =
            Description::parse(text).unwrap_or_else(|error| panic!("{name}: {error}")).parameters().unwrap();
        assert!(parameters.len() > 20, "{name}");
    }
    let silent = SHIPPED[0].1.replacen("source = \"section 6.1\"", "", 1);
    let error = Description::parse(&silent).unwrap_err();
    assert!(error.contains("cluster.0.nodes"), "{error}");
    let unbounded = SHIPPED[0].1.replacen(", range = [800, 2500]", "", 1);
    assert_eq!(Description::parse(&unbounded).unwrap_err(), "host.shm_latency_ns: an assumption needs its range");
}

#[test]
fn no_parameter_is_set_by_a_prediction() {
    let facts = read_facts(FACTS).unwrap();
    let predicted: Vec<&str> = facts.iter().filter(|fact| fact.kind != Kind::C).map(|fact| fact.id.as_str()).collect();
    for (name, text) in SHIPPED {
        for (path, parameter) in Description::parse(text).unwrap().parameters().unwrap() {
            let words = parameter.source.or(parameter.assumed).unwrap_or_default();
            let cites = |id: &&&str| words.split(|c: char| !c.is_alphanumeric()).any(|word| word == **id);
            assert_eq!(predicted.iter().find(cites), None, "{name}: {path}");
        }
    }
}

#[test]
fn a_parameter_that_is_not_there_is_named() {
    let testbed = Description::parse(SHIPPED[0].1).unwrap();
    let wrong = testbed.with("rail.7.link.mbit", "1").unwrap_err();
    assert_eq!(wrong, "the testbed has no rail.7.link.mbit: there are rail.hca0, rail.hca1");
    let wrong = testbed.with("speed", "1").unwrap_err();
    assert!(
        wrong.starts_with("the testbed has no speed: there are about, cluster, computation, default_stack"),
        "{wrong}"
    );
    assert_eq!(testbed.with("name.first", "1").unwrap_err(), "the testbed has no name.first");
    assert_eq!(testbed.with("rail.0.link", "1").unwrap_err(), "rail.0.link is not one value");
    assert_eq!(testbed.with("rail.0.link.mbit", "fast").unwrap_err(), "rail.0.link.mbit cannot be \"fast\"");
    assert!(testbed.with("stack.multirail.striping", "zebra").unwrap_err().contains("striping: allowed: binding"));
}

#[test]
fn a_rail_is_named_or_counted() {
    let testbed = Description::parse(SHIPPED[0].1).unwrap();
    let of = |path| testbed.with(path, "123").unwrap().testbed().unwrap().rail[1].link.as_ref().unwrap().mbit.value;
    assert_eq!((of("rail.hca1.link.mbit"), of("rail.1.link.mbit")), (123.0, 123.0));
}

#[test]
fn every_row_has_its_program_and_every_program_its_row() {
    let facts = read_facts(FACTS).unwrap();
    let rows: Vec<(&str, &str)> = ROWS.iter().map(|row| (row.id, row.paper)).collect();
    let table: Vec<(&str, &str)> = facts.iter().map(|fact| (fact.id.as_str(), fact.paper.as_str())).collect();
    assert_eq!(rows, table);
}

/// A rule that holds where nothing of what it claims is there tests nothing: such a table is not read.
#[test]
fn a_rule_that_holds_of_its_null_hypothesis_is_refused() {
    let changed = |from: &str, to: &str| read_facts(&FACTS.replacen(from, to, 1)).unwrap_err();
    for (error, told) in [
        // A tolerance that reaches down to saving nothing.
        (
            changed("near = 38, tolerance = 0.15", "near = 38, tolerance = 1.0"),
            "M12: communication saved at most, %: the number holds under the null hypothesis",
        ),
        (changed("least = 1.3, null = 1.0", "least = 1.0"), "W13: CG, run time, 1 ms / no delay: no `null`"),
        (changed("null_is = \"delay changes nothing\"\n", ""), "W4: no `null_is`"),
        // What a program has that waits for bandwidth alone.
        (
            changed("near = 55, tolerance = 0.15, given = true", "near = 55, tolerance = 0.15, null = 57"),
            "E7: IS, RPI, %: the number holds under the null hypothesis",
        ),
        // Each half alone may hold, but not all of it.
        (
            read_facts(&FACTS.replace("most = 0.5, null = 1.0", "most = 1.5, null = 1.0")).unwrap_err(),
            "D3: all of it holds under the null hypothesis",
        ),
    ] {
        assert!(error.starts_with(told), "{error}");
    }
}

/// What is simulated does not depend on what was published: only the judgement does.
#[test]
fn another_target_changes_no_simulated_value() {
    let mut facts = read_facts(FACTS).unwrap();
    let mut judged = || -> Vec<_> {
        let experiments = Experiments::new(1);
        let rows = ROWS.iter().filter(|row| QUICK.contains(&row.id));
        let all = rows.map(|row| {
            let fact = facts.iter().find(|fact| fact.id == row.id).unwrap();
            judge(fact, row.find(&experiments).unwrap())
        });
        let all: Vec<_> = all.collect();
        for check in facts.iter_mut().flat_map(|fact| &mut fact.checks) {
            check.near = check.near.map(|near| near * 3.0);
        }
        all
    };
    let (before, after) = (judged(), judged());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.values, after.values, "{}", before.fact.id);
        assert!(before.holds(), "{}", before.fact.id);
        let has_numbers = before.fact.checks.iter().any(|check| check.near.is_some());
        assert_eq!(after.holds(), !has_numbers, "{}: the table is what it is held against", after.fact.id);
    }
    assert_eq!(before.iter().filter(|row| row.fact.kind == Kind::P).count(), 2);
}

/// Applications as they were recorded: the same seed gives the same values to the last bit.
#[test]
fn applications_take_the_same_time_again() {
    let find = |id| {
        let row = ROWS.iter().find(|row| row.id == id).unwrap();
        row.find(&Experiments::new(1)).unwrap()
    };
    let found = find("M13");
    assert_eq!(found, find("M13"));
    assert!(found.values().all(|saved| (5.0..50.0).contains(saved)), "{found:?}");
    let messages = find("E6");
    assert_eq!(messages["LU, <2K"], 100_000.0, "250 iterations, 100 planes, two sweeps, two neighbours of a corner");
}

/// Unequal rails: nobody tells the policy that the bus makes 2:1 the best ratio both ways.
#[test]
fn adaptive_striping_settles_near_the_ratio_that_the_bus_allows() {
    let row = ROWS.iter().find(|row| row.id == "M15").unwrap();
    let found = row.find(&Experiments::new(1)).unwrap();
    let ratio = found["adaptive, share of rail 1 over that of rail 2"];
    assert!((1.7..2.3).contains(&ratio), "{ratio}");
}

/// A stack of a testbed with another value of a parameter.
fn machine(testbed: &str, set: &[(&str, &str)], stack: &str, ranks: (u32, u32)) -> Machine {
    Machine::shipped(testbed, set, ranks, 1).unwrap().with_stack(stack)
}

/// One value of two ranks on two nodes of a modelled machine.
fn value(machine: &Machine, benchmark: Benchmark, size: u64) -> f64 {
    run(machine, benchmark, &Options { size, ..Options::default() }).unwrap().value
}

/// The second of two equal fast rails costs nothing at sizes where a handshake and a copy take about as long as the
/// message itself.
#[test]
fn two_fast_rails_are_no_slower_than_one() {
    for size in [16 << 10, 64 << 10, 1 << 20] {
        let of = |stack, benchmark| value(&machine("ib-2x400", &[], stack, (2, 1)), benchmark, size);
        let latency = of("fishplate", Benchmark::Latency) / of("one-rail", Benchmark::Latency);
        let bandwidth = of("fishplate", Benchmark::Bandwidth) / of("one-rail", Benchmark::Bandwidth);
        assert!(latency < 1.05 && bandwidth > 0.95, "{size} B: latency {latency}, bandwidth {bandwidth} of one rail's");
    }
}

/// Every schedule comes to its end in virtual time, and the same one takes the same time again.
#[test]
fn schedules_of_collectives_run_over_two_clusters() {
    use Benchmark::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce};
    let [coordinators, pieces] = [1, 4].map(|segments| Algorithm::Coordinators { segments });
    let shared = Algorithm::Shared { segments: 1 };
    let mut runs = 0;
    for benchmark in [Barrier, Bcast, Reduce, Allreduce, Allgather, Alltoall] {
        for algorithm in [coordinators, pieces, shared, Algorithm::Direct { window: 2 }] {
            let options =
                Options { size: 20_000, algorithm: Some(algorithm), iterations: 1, warmup: 0, ..Options::default() };
            let machine = machine("wan-2008", &[], "mvapich2", (8, 2));
            match (run(&machine, benchmark, &options), run(&machine, benchmark, &options)) {
                (Ok(first), Ok(second)) => assert_eq!(first, second, "{benchmark:?} {algorithm}"),
                (Err(error), _) => assert!(error.ends_with("here"), "{error}"),
                (first, second) => panic!("{first:?} {second:?}"),
            }
            runs += 1;
        }
    }
    assert_eq!(runs, 24);
}

/// Both ways at once, a process that answers reads itself has its work twice; an adapter that reads one after the other
/// has time for the other side's.
#[test]
fn reads_both_ways_cost_those_who_answer_them() {
    let gain = |testbed, size| {
        let of = |benchmark| value(&machine(testbed, &[], "mpi", (2, 1)), benchmark, size);
        of(Benchmark::GetBibandwidth) / of(Benchmark::GetBandwidth)
    };
    assert!(gain("pecnit-2007-quadrics", 512) > 1.9);
    assert!(gain("pecnit-2007-ib", 512) < 1.2);
}

/// Bursts of a bus are passed on before their packet is whole, which is a packet all the same.
#[test]
fn bursts_shorten_latency_and_leave_the_peak() {
    let of = |burst: &str, benchmark, size| {
        let set = [("rail.0.bus.burst_bytes", burst)];
        value(&machine("pecnit-2007-quadrics", &set, "mpi", (2, 1)), benchmark, size)
    };
    assert!(of("512", Benchmark::Latency, 2048) < 0.8 * of("2048", Benchmark::Latency, 2048));
    let peaks = of("512", Benchmark::Bandwidth, 4 << 20) / of("2048", Benchmark::Bandwidth, 4 << 20);
    assert!((peaks - 1.0).abs() < 0.01, "{peaks}");
}

/// The emulated machine with `rails` rails, and other values of some parameters.
fn emulated(rails: usize, set: &[(&str, &str)]) -> Machine {
    let mut machine = machine("emulated", set, "earliest", (2, 1));
    let testbed = Rc::make_mut(&mut machine.testbed);
    testbed.stack.values_mut().for_each(|stack| stack.rails.truncate(rails));
    machine
}

/// How much longer a message takes after short ones than without them: a cell of ping-pong over unequal rails, which
/// `tests/history.rs` counts as a miss.
const MAX_AFTER_SHORT: f64 = 1.10;

#[test]
fn what_a_program_has_learned_of_its_rails_it_keeps() {
    let long = Options { size: 256 << 10, iterations: 8, median: true, ..Options::default() };
    let short = Options { size: 4 << 10, iterations: 5000, ..Options::default() };
    let alone = sweep(&emulated(2, &[]), Benchmark::Latency, std::slice::from_ref(&long)).unwrap()[0].value;
    let after = sweep(&emulated(2, &[]), Benchmark::Latency, &[short, long]).unwrap()[1].value;
    assert!(after < MAX_AFTER_SHORT * alone, "{after} us after short messages, {alone} us without");
}

/// A program that waits for each of its sends does not wait for a round trip each time, as over real sockets.
#[test]
fn sends_to_a_distant_peer_end_before_they_are_acknowledged() {
    const MESSAGES: u32 = 50;
    let set = [("rail.0.emulated.by", "emulator"), ("rail.0.emulated.delay_us", "1000")];
    let world = program::run(emulated(1, &set).world().unwrap(), |mpi: Mpi| -> Task {
        Box::pin(async move {
            for _ in 0..MESSAGES {
                match mpi.rank() {
                    0 => mpi.send(1, 0, 64 << 10).await,
                    _ => mpi.recv(0, 0, 64 << 10).await,
                }
            }
        })
    });
    // A round trip each would take 50 x 2.5 ms, the wire takes 50 x 0.55 ms.
    let seconds = world.unwrap().now().as_ns() / 1e9;
    assert!(seconds < 0.05, "{seconds} s");
}

/// Both ways at once each process has to receive while it sends: system calls that take in nothing but what has come.
#[test]
fn both_ways_at_once_are_less_than_twice_one_way() {
    let options = Options { size: 16, window: 16, iterations: 20, ..Options::default() };
    let of = |benchmark| run(&emulated(1, &[]), benchmark, &options).unwrap().value;
    let gain = of(Benchmark::Bibandwidth) / of(Benchmark::Bandwidth);
    assert!((1.2..1.85).contains(&gain), "{gain}");
}

/// A schedule that knows the clusters crosses a millisecond once; the library's own broadcast crosses it several times.
#[test]
fn a_broadcast_by_coordinators_crosses_the_distance_once() {
    let machine = machine("wan-2008", &[("wan.delay_us", "1000")], "mvapich2-64k", (16, 2));
    let of = |algorithm| {
        let options = Options { size: 60_000, algorithm, aligned: true, iterations: 1, ..Options::default() };
        run(&machine, Benchmark::Bcast, &options).unwrap().value
    };
    let (own, coordinators) = (of(None), of(Some(Algorithm::Coordinators { segments: 1 })));
    assert!((1000.0..1500.0).contains(&coordinators), "{coordinators} us");
    assert!(own > 1.5 * coordinators, "{own} us against {coordinators}");
}
