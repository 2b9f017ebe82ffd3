//! The per-rail counters that processes leave in a file of JSON lines (docs/reference/stats.md).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};
use fishplate_host::{Host, HostId};
use serde::Deserialize;

/// Name of the schema in each line.
const SCHEMA: &str = "fishplate-stats/1";

/// One process's counters of one rail.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    schema: String,
    host: String,
    /// Identity of the host; older lines lack it.
    host_id: Option<HostId>,
    /// A random number of the process; lines of before do not tell.
    process: Option<String>,
    pid: u64,
    rank: Option<u32>,
    rail: String,
    tx_bytes: u64,
    tx_messages: u64,
    rx_bytes: u64,
    retransmitted_segments: u64,
    /// Least round trip.
    min_rtt_us: Option<f64>,
    /// Mean of the smoothed round trip.
    rtt_us: Option<f64>,
    /// From the first to the last byte on this rail.
    seconds: f64,
}

/// A rail's counters over all processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rail {
    pub name: String,
    /// Bytes sent over it, by all processes.
    pub bytes: u64,
    /// Messages and stripes of messages sent over it.
    pub messages: u64,
    /// Part of all bytes sent, 0 to 1.
    pub share: f64,
    /// TCP segments that were sent again.
    pub retransmitted: u64,
    /// Least round trip, in microseconds.
    pub min_rtt_us: Option<f64>,
    /// Mean of the smoothed round trips of processes that sent, by the bytes that they sent, in microseconds.
    pub rtt_us: Option<f64>,
    /// Bytes a second at the busiest host, in its busier direction, while the rail was in use.
    pub rate: f64,
}

/// Counters of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Rails by name.
    pub rails: Vec<Rail>,
    /// Processes that wrote counters.
    pub processes: usize,
    /// Hosts that they ran on.
    pub hosts: usize,
}

/// Identity of a process: its random number; in older lines its host, rank and process number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Process<'a> {
    Numbered(&'a str),
    Of(HostId, Option<u32>, u64),
}

impl Line {
    /// The host: by its name where the line does not tell more.
    fn host(&self) -> HostId {
        self.host_id.unwrap_or_else(|| Host::named(&self.host).id())
    }

    fn process(&self) -> Process<'_> {
        let of = || Process::Of(self.host(), self.rank, self.pid);
        self.process.as_deref().map_or_else(of, Process::Numbered)
    }
}

/// A mean of round trips.
#[derive(Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

/// Counters of one rail at one host.
#[derive(Default)]
struct AtHost {
    tx: u64,
    rx: u64,
    seconds: f64,
}

/// Whether what was written into a file can be read: not what went into a pipe or to a terminal.
pub fn can_be_read_again(file: &Path) -> bool {
    !file.metadata().is_ok_and(|known| !known.is_file())
}

/// Reads the lines of `file` behind its first `skip` bytes. Skips lines that are no counters, such as a last line cut
/// short by a killed process.
pub fn read(file: &Path, skip: u64) -> Result<Vec<Line>> {
    let problem = || format!("cannot read the counters in {}", file.display());
    let mut text = Vec::new();
    if !can_be_read_again(file) {
        return Ok(Vec::new());
    }
    match File::open(file) {
        Ok(mut opened) => {
            opened.seek(SeekFrom::Start(skip)).with_context(problem)?;
            opened.read_to_end(&mut text).with_context(problem)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(problem),
    }
    Ok(parse(&String::from_utf8_lossy(&text)))
}

fn parse(text: &str) -> Vec<Line> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    lines.filter(|line| line.schema == SCHEMA).collect()
}

pub fn summarize(lines: &[Line]) -> Summary {
    let mut rails: BTreeMap<&str, (Rail, Mean, BTreeMap<HostId, AtHost>)> = BTreeMap::new();
    for line in lines {
        let (rail, round_trip, hosts) = rails.entry(&line.rail).or_default();
        rail.bytes += line.tx_bytes;
        rail.messages += line.tx_messages;
        rail.retransmitted += line.retransmitted_segments;
        rail.min_rtt_us = rail.min_rtt_us.into_iter().chain(line.min_rtt_us).reduce(f64::min);
        line.rtt_us.into_iter().for_each(|us| round_trip.add(us, line.tx_bytes));
        let host = hosts.entry(line.host()).or_default();
        host.tx += line.tx_bytes;
        host.rx += line.rx_bytes;
        host.seconds = host.seconds.max(line.seconds);
    }
    let total: u64 = rails.values().map(|(rail, ..)| rail.bytes).sum();
    let finish = |(name, (rail, round_trip, hosts)): (&str, (Rail, Mean, BTreeMap<HostId, AtHost>))| Rail {
        name: name.to_string(),
        share: rail.bytes as f64 / total.max(1) as f64,
        rtt_us: round_trip.value(),
        rate: hosts.values().map(AtHost::rate).fold(0.0, f64::max),
        ..rail
    };
    Summary {
        rails: rails.into_iter().map(finish).collect(),
        processes: lines.iter().map(Line::process).collect::<BTreeSet<_>>().len(),
        hosts: lines.iter().map(Line::host).collect::<BTreeSet<_>>().len(),
    }
}

impl Mean {
    /// Even 0 bytes have a weight, or a rail that carried nothing would have no round trip.
    fn add(&mut self, value: f64, bytes: u64) {
        let weight = bytes.max(1) as f64;
        self.sum += value * weight;
        self.weight += weight;
    }

    fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

impl AtHost {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.tx.max(self.rx) as f64 / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, pid: u64, rail: &str, tx: u64, rx: u64, seconds: f64) -> String {
        let min_rtt_us = 20.0 + pid as f64;
        format!(
            r#"{{"schema":"fishplate-stats/1","host":"{host}","pid":{pid},"rank":null,"rail":"{rail}","address":"10.0.0.1","streams":1,"links":1,"tx_bytes":{tx},"tx_messages":2,"rx_bytes":{rx},"rx_messages":1,"retransmitted_segments":3,"min_rtt_us":{min_rtt_us},"rtt_us":500.0,"seconds":{seconds}}}"#
        )
    }

    #[test]
    fn lines_add_up() {
        let text = [
            line("a", 1, "r0", 800, 0, 2.0),
            line("a", 1, "r1", 200, 0, 2.0),
            line("b", 1, "r0", 0, 800, 2.0),
            line("b", 1, "r1", 0, 200, 2.0),
        ];
        let summary = summarize(&parse(&text.join("\n")));
        assert_eq!((summary.processes, summary.hosts), (2, 2));
        let r0 = &summary.rails[0];
        assert_eq!((r0.name.as_str(), r0.bytes, r0.messages, r0.retransmitted), ("r0", 800, 4, 6));
        assert_eq!((r0.share, r0.rate), (0.8, 400.0));
        assert_eq!((r0.min_rtt_us, r0.rtt_us), (Some(21.0), Some(500.0)));
    }

    #[test]
    fn hosts_and_processes_are_not_distinguished_by_names_and_process_numbers() {
        let of = |host: &str, process: &str, rail: &str| {
            let identity = format!(r#""host_id":"{host:0>16}","process":"{process}","rail":"#);
            line("node", 1, rail, 400, 0, 2.0).replace(r#""rail":"#, &identity)
        };
        let summary = |lines: &[String]| summarize(&parse(&lines.join("\n")));
        // Two ranks on a host, one on another that has its name; each is process 1 of a namespace, and none has a rank.
        let all = summary(&[of("1", "p", "r0"), of("1", "p", "r1"), of("1", "q", "r0"), of("2", "s", "r0")]);
        assert_eq!((all.processes, all.hosts, all.rails[0].rate), (3, 2, 400.0));
        // Names do not count, except in lines of earlier versions, which have nothing else.
        let alias = of("1", "t", "r0").replace("node", "container");
        assert_eq!(summary(&[of("1", "p", "r0"), alias]).hosts, 1);
        let before = [line("node", 1, "r0", 1, 1, 1.0), line("node", 2, "r0", 1, 1, 1.0)];
        assert_eq!((summary(&before).processes, summary(&before).hosts), (2, 1));
        let wrong = of("1", "p", "r0").replace("0000000000000001", "x");
        assert_eq!(summary(&[wrong]).processes, 0);
    }

    #[test]
    fn incomplete_lines_are_left_out() {
        let whole = line("a", 1, "r0", 1, 1, 0.0);
        let text = format!("\nnoise\n{{\"schema\":\"other\"}}\n{whole}\n{}", &whole[..whole.len() / 2]);
        let summary = summarize(&parse(&text));
        assert_eq!(summary.processes, 1);
        assert_eq!(summary.rails[0].rate, 0.0);
        assert_eq!(summarize(&parse("")), Summary::default());
    }

    #[test]
    fn earlier_runs_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stats");
        assert!(read(&file, 0).unwrap().is_empty());
        let first = line("a", 1, "r0", 1, 1, 1.0) + "\n";
        std::fs::write(&file, first.clone() + &line("a", 2, "r0", 1, 1, 1.0) + "\n").unwrap();
        assert_eq!(read(&file, 0).unwrap().len(), 2);
        assert_eq!(read(&file, first.len() as u64).unwrap()[0].pid, 2);
    }
}
