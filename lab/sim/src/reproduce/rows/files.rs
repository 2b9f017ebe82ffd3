//! The papers' rows of file systems: PVFS of endapps-2006, NFS of wan-2008.

use super::super::experiments::{Experiments, Ranks, Setting, Values, values};
use super::endapps;
use crate::models::time::Time;
use crate::suite::{Benchmark, FileAccess, Options, Pattern};

const PVFS: [(&str, &str); 3] = [("TCP", "native-tcp"), ("EFSockets", "native-ef"), ("SDP", "sdp")];
/// Requests of 64 KB on each of four servers (section 7.1).
const REQUEST: u64 = 256 << 10;
const CLIENTS: u32 = 4;
/// A record of IOzone (section 3.6).
const RECORD: u64 = 256 << 10;
const THREADS: [u32; 4] = [1, 2, 4, 8];
const DELAY: &str = "wan.delay_us";

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
pub fn contiguous(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    for (write, told, figure) in [(false, "read", "figure 10a"), (true, "write", "figure 10b")] {
        let mut rates = Vec::new();
        for (name, stack) in PVFS {
            for clients in 1..CLIENTS {
                let setting = pvfs(stack, clients);
                experiments.curve(figure, &setting, Benchmark::IoContiguous, (&[REQUEST], &direction(write)))?;
            }
            let setting = pvfs(stack, CLIENTS);
            let rate =
                experiments.curve(figure, &setting, Benchmark::IoContiguous, (&[REQUEST], &direction(write)))?[0];
            found.insert(format!("{name}, {told}, Mbps"), mbps(rate));
            rates.push(rate);
        }
        found.insert(format!("SDP / EFSockets, {told}"), rates[2] / rates[1]);
        found.insert(format!("SDP / TCP, {told}"), rates[2] / rates[0]);
    }
    Ok(found)
}

pub fn tiles(experiments: &Experiments) -> Result<Values, String> {
    let mut found = Values::new();
    for (name, stack) in PVFS {
        for (write, told, figure) in [(false, "read", "figure 11a"), (true, "write", "figure 11b")] {
            let options = Options { iterations: 1, warmup: 0, ..direction(write) };
            let setting = pvfs(stack, CLIENTS);
            let rate =
                experiments.curve(figure, &setting, Benchmark::IoTile, (&[options.files.tile_bytes()], &options))?[0];
            found.insert(format!("{name}, {told}, Mbps"), mbps(rate));
        }
    }
    Ok(found)
}

/// Rates at which four processes search through a database together, each reading a part and searching it in turn, in
/// MB/s.
fn search(experiments: &Experiments, stack: &str) -> Result<f64, String> {
    let setting = pvfs(stack, CLIENTS);
    let testbed = experiments.machine(&setting)?.testbed;
    let application = testbed.application.get("sequence-search").ok_or("endapps-2006 has no sequence-search")?;
    let compute = Some(Time::ns(application.compute_ns_per_byte.value * REQUEST as f64));
    let pattern = Pattern { compute, ..Pattern::default() };
    experiments.value(&setting, Benchmark::IoContiguous, &Options { size: REQUEST, pattern, ..Options::default() })
}

/// The part of the time that both ports gain, of what SDP gains: the same whatever the length of the database, which
/// stays in the servers' memory.
pub fn search_gain(experiments: &Experiments) -> Result<Values, String> {
    let of = |stack| Ok::<f64, String>(1.0 / search(experiments, stack)?);
    let (tcp, both, sdp) = (of("native-tcp")?, of("native-ef")?, of("sdp")?);
    let rpi = 100.0 * (tcp - both) / (tcp - sdp);
    Ok(values([("RPI, 1 GB, %", rpi), ("RPI, 2 GB, %", rpi)]))
}

pub fn search_network(experiments: &Experiments) -> Result<Values, String> {
    let mut found = endapps::throughput(experiments, "figure 5b", &endapps::NATIVE)?;
    let used = mbps(search(experiments, "sdp")?) / f64::from(CLIENTS);
    let part = used / found["SDP, Mbps"];
    found.insert("used by a process over SDP, Mbps".into(), used);
    found.insert("used by a process / SDP".into(), part);
    Ok(found)
}

/// Greatest rate of NFS over numbers of threads, in MB/s.
fn nfs(experiments: &Experiments, figure: &'static str, stack: &str, delay: Option<&str>) -> Result<f64, String> {
    let with: Vec<(&str, &str)> = delay.map(|delay| (DELAY, delay)).into_iter().collect();
    let clusters = if delay.is_some() { 2 } else { 1 };
    let ranks = Ranks { count: 1, per_node: 1, clusters };
    let setting = Setting { testbed: "wan-2008", stack, with: &with, ranks };
    let mut greatest: f64 = 0.0;
    for threads in THREADS {
        let options = Options {
            files: FileAccess { threads, ..FileAccess::default() },
            iterations: 2,
            warmup: 1,
            ..Options::default()
        };
        let rate = experiments.curve(figure, &setting, Benchmark::IoThreads, (&[RECORD], &options))?[0];
        greatest = greatest.max(rate);
    }
    Ok(greatest)
}

const RDMA: &str = "nfs-rdma";

pub fn nfs_near(experiments: &Experiments) -> Result<Values, String> {
    let of = |delay| nfs(experiments, "figure 9a", RDMA, delay);
    let (lan, none, ten) = (of(None)?, of(Some("0"))?, of(Some("10"))?);
    Ok(values([("lost over the routers", 1.0 - none / lan), ("no delay, MB/s", none), ("10 us, MB/s", ten)]))
}

pub fn nfs_far(experiments: &Experiments) -> Result<Values, String> {
    let of = |delay| nfs(experiments, "figure 9a", RDMA, Some(delay));
    Ok(values([("100 us, MB/s", of("100")?), ("1000 us, MB/s", of("1000")?)]))
}

pub fn nfs_compared(experiments: &Experiments) -> Result<Values, String> {
    let near = |stack| nfs(experiments, "figure 9b", stack, Some("10"));
    let far = |stack| nfs(experiments, "figure 9c", stack, Some("1000"));
    let rdma = near(RDMA)?;
    Ok(values([
        ("10 us: RDMA / IPoIB-RC", rdma / near("ipoib-rc")?),
        ("10 us: RDMA / IPoIB-UD", rdma / near("ipoib-ud")?),
        ("1000 us: RDMA, MB/s", far(RDMA)?),
        ("1000 us: IPoIB-UD, MB/s", far("ipoib-ud")?),
        ("1000 us: IPoIB-RC, MB/s", far("ipoib-rc")?),
    ]))
}
