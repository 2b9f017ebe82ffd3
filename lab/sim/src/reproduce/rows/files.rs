//! The papers' rows of file systems: PVFS of endapps-2006, NFS of wan-2008.

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::endapps;
use super::greatest;
use super::wan::DELAY;
use crate::models::time::Time;
use crate::suite::{Benchmark, FileAccess, Options, Pattern};

const PVFS: [(&str, &str); 3] = [("TCP", "native-tcp"), ("EFSockets", "native-ef"), ("SDP", "sdp")];
/// Requests of 64 KB on each of four servers (section 7.1).
const REQUEST: u64 = 256 << 10;
const CLIENTS: u32 = 4;
/// A record of IOzone (section 3.6).
const RECORD: u64 = 256 << 10;
const THREADS: [u32; 4] = [1, 2, 4, 8];

fn mbps(mb_s: f64) -> f64 {
    8.0 * mb_s
}

fn pvfs<'a>(stack: &'a str, clients: u32) -> Setting<'a> {
    Setting { testbed: "endapps-2006", stack, with: &[], ranks: Ranks::of(clients, 1) }
}

fn direction(write: bool) -> Options {
    Options { files: FileAccess { write, ..FileAccess::default() }, ..Options::default() }
}

/// Four clients at once, of all servers.
pub fn contiguous(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    for (write, told, figure) in [(false, "read", "figure 10a"), (true, "write", "figure 10b")] {
        let of = |stack, clients| {
            let sizes = (&[REQUEST][..], &direction(write));
            experiments.curve_with(figure, &pvfs(stack, clients), Benchmark::IoContiguous, sizes)[0]
        };
        let [tcp, both, sdp] = PVFS.map(|(name, stack)| {
            (1..CLIENTS).for_each(|clients| _ = of(stack, clients));
            let rate = of(stack, CLIENTS);
            found.insert(format!("{name}, {told}, Mbps"), mbps(rate));
            rate
        });
        found.insert(format!("SDP / EFSockets, {told}"), sdp / both);
        found.insert(format!("SDP / TCP, {told}"), sdp / tcp);
    }
    found
}

pub fn tiles(experiments: &Experiments) -> Values {
    let mut found = Values::new();
    for (name, stack) in PVFS {
        for (write, told, figure) in [(false, "read", "figure 11a"), (true, "write", "figure 11b")] {
            let options = Options { iterations: 1, warmup: 0, ..direction(write) };
            let sizes = (&[options.files.tile_bytes()][..], &options);
            let rate = experiments.curve_with(figure, &pvfs(stack, CLIENTS), Benchmark::IoTile, sizes)[0];
            found.insert(format!("{name}, {told}, Mbps"), mbps(rate));
        }
    }
    found
}

/// Rates at which four processes search through a database together, each reading a part and searching it in turn, in
/// MB/s.
fn search(experiments: &Experiments, stack: &str) -> f64 {
    let setting = pvfs(stack, CLIENTS);
    let ns_per_byte = experiments.machine(&setting).and_then(|machine| {
        let application = machine.testbed.application.get("sequence-search");
        Ok(application.ok_or("endapps-2006 has no sequence-search")?.compute_ns_per_byte.value)
    });
    let compute = Some(Time::ns(experiments.or_fail(ns_per_byte) * REQUEST as f64));
    let pattern = Pattern { compute, ..Pattern::default() };
    experiments.value(&setting, Benchmark::IoContiguous, &Options { size: REQUEST, pattern, ..Options::default() })
}

/// The part of the time that both ports gain, of what SDP gains: the same whatever the length of the database, which
/// stays in the servers' memory.
pub fn search_gain(experiments: &Experiments) -> Values {
    let [tcp, both, sdp] = PVFS.map(|(_, stack)| 1.0 / search(experiments, stack));
    let rpi = 100.0 * (tcp - both) / (tcp - sdp);
    values([("RPI, 1 GB, %", rpi), ("RPI, 2 GB, %", rpi)])
}

pub fn search_network(experiments: &Experiments) -> Values {
    let mut found = endapps::throughput(experiments, "figure 5b", &endapps::NATIVE);
    let used = mbps(search(experiments, "sdp")) / f64::from(CLIENTS);
    let part = used / found["SDP, Mbps"];
    found.insert("used by a process over SDP, Mbps".into(), used);
    found.insert("used by a process / SDP".into(), part);
    found
}

/// Greatest rate of NFS over numbers of threads, in MB/s.
fn nfs(experiments: &Experiments, figure: &'static str, stack: &str, delay: Option<&str>) -> f64 {
    let with: Vec<(&str, &str)> = delay.map(|delay| (DELAY, delay)).into_iter().collect();
    let ranks = Ranks { count: 1, per_node: 1, clusters: if delay.is_some() { 2 } else { 1 } };
    let setting = Setting { testbed: "wan-2008", stack, with: &with, ranks };
    let rate = |threads| {
        let files = FileAccess { threads, ..FileAccess::default() };
        let options = Options { files, iterations: 2, warmup: 1, ..Options::default() };
        experiments.curve_with(figure, &setting, Benchmark::IoThreads, (&[RECORD], &options))[0]
    };
    greatest(&THREADS.map(rate))
}

const RDMA: &str = "nfs-rdma";

pub fn nfs_near(experiments: &Experiments) -> Values {
    let [lan, none, ten] = [None, Some("0"), Some("10")].map(|delay| nfs(experiments, "figure 9a", RDMA, delay));
    values([("lost over the routers", 1.0 - none / lan), ("no delay, MB/s", none), ("10 us, MB/s", ten)])
}

pub fn nfs_far(experiments: &Experiments) -> Values {
    let of = |delay| nfs(experiments, "figure 9a", RDMA, Some(delay));
    values([("100 us, MB/s", of("100")), ("1000 us, MB/s", of("1000"))])
}

pub fn nfs_compared(experiments: &Experiments) -> Values {
    let near = |stack| nfs(experiments, "figure 9b", stack, Some("10"));
    let far = |stack| nfs(experiments, "figure 9c", stack, Some("1000"));
    let rdma = near(RDMA);
    values([
        ("10 us: RDMA / IPoIB-RC", rdma / near("ipoib-rc")),
        ("10 us: RDMA / IPoIB-UD", rdma / near("ipoib-ud")),
        ("1000 us: RDMA, MB/s", far(RDMA)),
        ("1000 us: IPoIB-UD, MB/s", far("ipoib-ud")),
        ("1000 us: IPoIB-RC, MB/s", far("ipoib-rc")),
    ])
}
