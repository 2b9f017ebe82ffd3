//! File systems over modelled machines.

use fishplate_sim::suite::{Benchmark, FileAccess, Options, run};
use fishplate_sim::testbed::{Description, Machine};

/// Stacks with a file system.
const STACKS: [(&str, &str); 6] = [
    ("endapps-2006", "native-tcp"),
    ("endapps-2006", "native-ef"),
    ("endapps-2006", "sdp"),
    ("wan-2008", "nfs-rdma"),
    ("wan-2008", "ipoib-rc"),
    ("wan-2008", "ipoib-ud"),
];

fn changed(testbed: &str, stack: &str, set: &[(&str, &str)], clients: u32) -> Machine {
    Machine::shipped(testbed, set, (clients, 1), 1).unwrap().with_stack(stack)
}

fn once(size: u64, files: FileAccess) -> Options {
    Options { size, iterations: 1, warmup: 1, files, ..Options::default() }
}

fn small(write: bool) -> FileAccess {
    FileAccess { write, threads: 2, random: true, file_bytes: 4 << 20, tile: (32, 8), ..FileAccess::default() }
}

#[test]
fn every_benchmark_runs_over_every_file_system_and_the_same_again_is_the_same() {
    for (testbed, stack) in STACKS {
        let machine = changed(testbed, stack, &[], 3);
        for benchmark in [Benchmark::IoContiguous, Benchmark::IoTile, Benchmark::IoThreads] {
            for write in [false, true] {
                let of = || run(&machine, benchmark, &once(100_000, small(write))).unwrap();
                let (first, second) = (of(), of());
                assert!(first.value > 0.1 && first.parts.len() == 3, "{stack}, {benchmark:?}: {first:?}");
                assert_eq!(first, second, "{stack}, {benchmark:?}");
            }
        }
    }
}

/// Four servers send to one client, whose port is what they share; to four clients they send four times as much.
#[test]
fn large_contiguous_reads_are_as_fast_as_ports() {
    let of = |clients| {
        let machine = changed("endapps-2006", "native-tcp", &[], clients);
        run(&machine, Benchmark::IoContiguous, &once(4 << 20, FileAccess::default())).unwrap().value
    };
    let (one, four) = (of(1), of(4));
    assert!((105.0..113.0).contains(&one), "{one} MB/s");
    assert!((3.6..4.01).contains(&(four / one)), "{four} MB/s");
}

/// As many requests as there are credits go in a round trip.
#[test]
fn over_distance_credits_limit_the_rate() {
    let of = |stack, credits| {
        let set = [("wan.delay_us", "10000"), (credits, "1")];
        let machine = changed("wan-2008", stack, &set, 1);
        run(&machine, Benchmark::IoThreads, &once(32 << 10, FileAccess { threads: 2, ..small(false) })).unwrap().value
    };
    let (tcp, rdma) = (of("ipoib-rc", "storage.nfs.credits"), of("nfs-rdma", "storage.nfs-rdma.credits"));
    let round_trip_us = 2.0 * 10_000.0;
    for rate in [tcp, rdma] {
        let share = rate / (32_768.0 / round_trip_us);
        assert!((0.95..1.0).contains(&share), "{rate} MB/s");
    }
    let sixteen = of("ipoib-rc", "storage.nfs-rdma.credits");
    assert!((1.9..2.0).contains(&(sixteen / tcp)), "two threads have two requests under way: {sixteen} MB/s");
}

#[test]
fn more_threads_are_faster_where_credits_are_left() {
    let of = |threads| {
        let machine = changed("wan-2008", "ipoib-rc", &[("wan.delay_us", "1000")], 1);
        run(&machine, Benchmark::IoThreads, &once(32 << 10, FileAccess { threads, ..small(false) })).unwrap().value
    };
    assert!(of(8) > 7.0 * of(1));
    assert!(of(32) < 1.2 * of(16), "there are 16 credits");
}

#[test]
fn what_cannot_be_is_refused_with_the_value_and_the_reason() {
    let of = |stack, benchmark, options: Options| {
        run(&changed("endapps-2006", stack, &[], 2), benchmark, &options).unwrap_err()
    };
    let with = |files| once(1024, files);
    let usual = FileAccess::default();
    for (error, parts) in [
        (of("tcp", Benchmark::IoContiguous, with(usual)), ["tcp of endapps-2006 has no file system", "native-ef"]),
        (of("sdp", Benchmark::IoContiguous, once(0, usual)), ["io_contiguous: a size of 0", "nothing to access"]),
        (of("sdp", Benchmark::IoThreads, with(FileAccess { threads: 0, ..usual })), ["0 threads", "1 to 65536"]),
        (
            of("sdp", Benchmark::IoThreads, with(FileAccess { file_bytes: 1500, ..usual })),
            ["a file of 1500 bytes", "each of 2 threads"],
        ),
        (of("sdp", Benchmark::IoTile, with(FileAccess { tile: (0, 9), ..usual })), ["tiles of 0x9", "from 1 to 65536"]),
        (
            of("sdp", Benchmark::IoTile, with(FileAccess { overlap: (0, 768), ..usual })),
            ["an overlap of 0x768", "less than a tile of 1024x768"],
        ),
    ] {
        assert!(parts.iter().all(|part| error.contains(part)), "{error}: {parts:?}");
    }
    let description = Description::shipped("endapps-2006").unwrap();
    for (path, value, part) in [
        ("storage.pvfs.servers", "0", "servers: 0 is not a whole number"),
        ("storage.pvfs.stripe_bytes", "0.5", "stripe_bytes: 0.5 is not a whole number"),
        ("storage.pvfs.credits", "5000", "credits: 5000 is more than 1024"),
        ("storage.pvfs.server_copy_mb_s", "0", "a rate of 0 copies nothing"),
        ("stack.sdp.storage", "nfs", "stack.sdp: there is no storage nfs"),
    ] {
        let error = description.with(path, value).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}
