//! Per-rail counters, and the lines with them that are written at the end. See `docs/reference/stats.md`.

use std::io::{self, Write};
use std::path::Path;

use fishplate_engine::{Instant, RailId};
use fishplate_guest::file_limit::LimitedFile;
use fishplate_guest::output_file;
use fishplate_host::HostId;
use fishplate_link_core::Counts;
use serde::Serialize;

use crate::discover::Class;
use crate::process;
use crate::rail::Rail;
use crate::sys::tcp_info::TcpInfo;

/// Name and version of the lines' layout.
pub const SCHEMA: &str = "fishplate-stats/1";

#[derive(Clone, Copy, Debug, Default)]
struct RailCounters {
    counts: Counts,
    links: u32,
    streams: usize,
    round_trips: RoundTrips,
    first: Option<Instant>,
    last: Instant,
}

/// Round trips of one rail's links, from the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    least_ns: Option<u64>,
    smoothed_sum_ns: u64,
    samples: u64,
}

impl RoundTrips {
    fn add(&mut self, info: &TcpInfo) {
        if info.rtt_ns == 0 {
            return;
        }
        let least_ns = if info.min_rtt_ns > 0 { info.min_rtt_ns } else { info.rtt_ns };
        self.least_ns = Some(self.least_ns.map_or(least_ns, |least| least.min(least_ns)));
        self.smoothed_sum_ns = self.smoothed_sum_ns.saturating_add(info.rtt_ns);
        self.samples += 1;
    }

    fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_sum_ns.checked_div(self.samples)
    }
}

/// Counters of all rails.
#[derive(Debug)]
pub struct Counters {
    rails: Vec<RailCounters>,
}

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    host: &'a str,
    host_id: HostId,
    process: String,
    pid: u32,
    rank: Option<u32>,
    rail: &'a str,
    address: Option<String>,
    streams: usize,
    links: u32,
    #[serde(flatten)]
    counts: &'a Counts,
    min_rtt_us: Option<f64>,
    rtt_us: Option<f64>,
    seconds: f64,
}

impl Counters {
    pub fn new(rails: usize) -> Self {
        Counters { rails: vec![RailCounters::default(); rails] }
    }

    /// A link has been alive until now.
    pub fn touch(&mut self, rail: RailId, counts: &Counts, now: Instant) {
        let rail = &mut self.rails[usize::from(rail.0)];
        let active = counts.tx_bytes + counts.rx_bytes > 0;
        if active {
            rail.first.get_or_insert(now);
            rail.last = now;
        }
    }

    /// A link has come up, with which its rail has `streams` links to that peer.
    pub fn connected(&mut self, rail: RailId, streams: usize, info: &TcpInfo) {
        let rail = &mut self.rails[usize::from(rail.0)];
        rail.streams = rail.streams.max(streams);
        rail.round_trips.add(info);
    }

    /// A link in use was sampled.
    pub fn measured(&mut self, rail: RailId, info: &TcpInfo) {
        self.rails[usize::from(rail.0)].round_trips.add(info);
    }

    /// A link is closed.
    pub fn add(&mut self, rail: RailId, counts: &Counts, now: Instant) {
        self.touch(rail, counts, now);
        let rail = &mut self.rails[usize::from(rail.0)];
        rail.links += 1;
        rail.counts.add(counts);
    }

    /// Counts of the closed links of a rail.
    pub fn ended(&self, rail: usize) -> &Counts {
        &self.rails[rail].counts
    }

    /// Whether a rail has had links that are closed.
    pub fn has_ended(&self, rail: usize) -> bool {
        self.rails[rail].links > 0
    }

    /// Appends one line for each rail to `file`, and one for each interface in reserve, and each of the `others`, which have no
    /// addresses, that was used. All in one write, so that lines of several processes do not mix.
    pub fn append<'a>(&self, file: &Path, rails: &[Rail], others: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let mut text = Vec::new();
        let named =
            rails.iter().map(|rail| (rail.name.as_str(), Some(rail.ip().to_string()), rail.class == Class::Rail));
        let lines = named.chain(others.map(|name| (name, None, false))).zip(&self.rails);
        for ((rail, address, _), counters) in lines.filter(|((.., is_shown), counters)| *is_shown || counters.links > 0)
        {
            let line = Line {
                schema: SCHEMA,
                host: process::host(),
                host_id: process::host_id(),
                process: format!("{:016x}", process::number()),
                pid: std::process::id(),
                rank: process::rank(),
                rail,
                address,
                streams: counters.streams,
                links: counters.links,
                counts: &counters.counts,
                min_rtt_us: counters.round_trips.least_ns.map(us),
                rtt_us: counters.round_trips.smoothed_ns().map(us),
                seconds: counters.first.map_or(0, |first| counters.last.since_ns(first)) as f64 / 1e9,
            };
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        LimitedFile::behind(output_file::append(file)?)?.write_all(&text)
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}
