//! Counters of running processes: rates of their rails, from two readings of the pages that they publish.

use std::collections::BTreeMap;
use std::fmt;

use fishplate_host::{HostId, Labels};
use fishplate_rails::live::{self, Page, State};
use fishplate_rails::process;
use serde::{Deserialize, Serialize};

use crate::output::text;

/// One rail of one process, now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The process's rank, where its launcher says.
    pub rank: Option<u32>,
    /// The name of its host.
    pub host: String,
    /// Identity of the host.
    pub host_id: HostId,
    /// Its name if several hosts are shown.
    #[serde(skip)]
    pub host_label: String,
    /// Its number there.
    pub pid: u32,
    pub program: String,
    /// Peers that it is connected to.
    pub peers: u32,
    pub rail: String,
    pub state: State,
    /// Connections over it.
    pub links: u32,
    /// Maximum to one peer.
    pub streams: u32,
    /// Bytes a second that one connection gets, where several get clearly more.
    pub flow_rate: Option<u64>,
    /// Bytes a second that the port has sent while messages waited.
    pub port_rate: Option<u64>,
    /// Bytes a second sent since the look before; null where the process has not called its MPI since.
    pub tx_rate: Option<f64>,
    /// Bytes a second received.
    pub rx_rate: Option<f64>,
    /// Part of all that the process has sent and received since the look before, 0 to 1; null where that is nothing.
    pub share: Option<f64>,
    /// Smoothed round trip time of its slowest connection, in microseconds.
    pub rtt_us: Option<u64>,
    /// TCP segments sent again since the start.
    pub retransmitted_segments: u64,
    /// Frames that have come with a wrong checksum since the start.
    pub changed_frames: u64,
    /// For whom the process has waited for long, without an answer.
    pub waits_for: Option<String>,
    /// For how many seconds.
    pub waits_s: Option<f64>,
}

/// State of a rail's connections, as reported by running processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flows {
    /// Most connections to one peer.
    pub streams: u32,
    /// Bytes a second that one connection gets, where several get clearly more.
    pub flow_rate: Option<u64>,
    /// Bytes a second that the port has sent while messages waited.
    pub port_rate: Option<u64>,
}

impl Flows {
    /// Flows of this host's rails by the rails' names, as far as its processes know them.
    pub fn of_this_host() -> BTreeMap<String, Flows> {
        let own = process::host_id();
        let pages = live::pages().into_iter().map(|(_, page)| page).filter(|page| page.host_id() == own);
        Flows::of_rails(pages.flat_map(|page| page.rails))
    }

    fn of_rails(rails: impl Iterator<Item = live::Rail>) -> BTreeMap<String, Flows> {
        let mut all = BTreeMap::new();
        for rail in rails.filter(|rail| rail.port_rate.is_some()) {
            let flows: &mut Flows = all.entry(rail.name).or_default();
            flows.streams = flows.streams.max(rail.streams);
            flows.flow_rate = flows.flow_rate.max(rail.flow_rate);
            flows.port_rate = flows.port_rate.max(rail.port_rate);
        }
        all
    }
}

impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = text::bytes(self.port_rate.unwrap_or(0));
        match self.flow_rate {
            None => write!(f, "its port gives running programs {port}/s"),
            Some(flow) => write!(
                f,
                "a connection gets {}/s, its port gives {port}/s over the {} of running programs",
                text::bytes(flow),
                text::plural(self.streams.into(), "connection")
            ),
        }
    }
}

/// Looks at the pages of processes again and again.
#[derive(Default)]
pub struct Watch {
    before: BTreeMap<String, Page>,
    /// Names of hosts, for the duration of the display.
    labels: Labels,
}

impl Watch {
    /// All rails now.
    pub fn look(&mut self) -> Vec<Row> {
        self.compare(live::pages())
    }

    fn compare(&mut self, pages: Vec<(String, Page)>) -> Vec<Row> {
        pages.iter().for_each(|(_, page)| self.labels.add(page.host_id(), &page.host));
        let label = |page: &Page| self.labels.label(page.host_id(), &page.host);
        let rows = pages.iter().flat_map(|(name, page)| rows(page, label(page), self.before.get(name))).collect();
        self.before = pages.into_iter().collect();
        rows
    }
}

fn rows(page: &Page, host_label: String, before: Option<&Page>) -> Vec<Row> {
    let seconds = before.map(|before| page.seconds - before.seconds).filter(|seconds| *seconds > 0.0);
    let moved: Vec<(u64, u64)> = page
        .rails
        .iter()
        .enumerate()
        .map(|(at, rail)| {
            let old = before.and_then(|before| before.rails.get(at));
            let since = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(now));
            (since(rail.tx_bytes, old.map(|old| old.tx_bytes)), since(rail.rx_bytes, old.map(|old| old.rx_bytes)))
        })
        .collect();
    // Root is shown pages of all users, who may write any numbers there.
    let both = |(sent, received): (u64, u64)| sent as f64 + received as f64;
    let total: f64 = moved.iter().map(|moved| both(*moved)).sum();
    let row = |(rail, (sent, received)): (&live::Rail, (u64, u64))| Row {
        rank: page.rank,
        host: page.host.clone(),
        host_id: page.host_id(),
        host_label: host_label.clone(),
        pid: page.pid,
        program: page.program.clone(),
        peers: page.peers,
        rail: rail.name.clone(),
        state: rail.state,
        links: rail.links,
        streams: rail.streams,
        flow_rate: rail.flow_rate,
        port_rate: rail.port_rate,
        tx_rate: seconds.map(|seconds| sent as f64 / seconds),
        rx_rate: seconds.map(|seconds| received as f64 / seconds),
        share: (total > 0.0).then(|| both((sent, received)) / total),
        rtt_us: rail.rtt_us,
        retransmitted_segments: rail.retransmitted_segments,
        changed_frames: rail.changed_frames,
        waits_for: page.waits.as_ref().map(|wait| wait.peer.clone()),
        waits_s: page.waits.as_ref().map(|wait| wait.seconds),
    };
    page.rails.iter().zip(moved).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(seconds: f64, bytes: [(u64, u64); 2]) -> (String, Page) {
        let rail = |(at, (tx_bytes, rx_bytes)): (usize, (u64, u64))| live::Rail {
            name: format!("r{at}"),
            address: "10.0.0.1".parse().ok(),
            state: State::Up,
            links: 1,
            streams: 1,
            flow_rate: None,
            port_rate: None,
            tx_bytes,
            rx_bytes,
            tx_messages: 0,
            rx_messages: 0,
            rtt_us: Some(10),
            retransmitted_segments: 0,
            changed_frames: 0,
        };
        let rails = bytes.into_iter().enumerate().map(rail).collect();
        let (schema, host, program) = (live::SCHEMA.into(), "a".into(), "x".into());
        (
            "one".into(),
            Page { schema, host, host_id: None, pid: 1, rank: Some(0), program, seconds, peers: 1, waits: None, rails },
        )
    }

    #[test]
    fn of_several_processes_the_greatest_rate_of_a_rail_counts() {
        let rail = |streams, flow_rate, port_rate| {
            let (_, page) = page(1.0, [(0, 0), (0, 0)]);
            live::Rail { streams, flow_rate, port_rate, ..page.rails[0].clone() }
        };
        let all = [rail(9, None, None), rail(4, Some(31_000_000), Some(1)), rail(1, None, Some(125_000_000))];
        let flows = Flows::of_rails(all.into_iter())["r0"];
        assert_eq!(flows, Flows { streams: 4, flow_rate: Some(31_000_000), port_rate: Some(125_000_000) });
        let text = "a connection gets 31.0 MB/s, its port gives 125 MB/s over the 4 connections of running programs";
        assert_eq!(flows.to_string(), text);
    }

    #[test]
    fn hosts_with_one_name_are_distinguished() {
        let of = |file: &str, host: u64| {
            let (_, page) = page(1.0, [(0, 0), (0, 0)]);
            (file.to_string(), Page { host_id: HostId::of_number(host), ..page })
        };
        let mut watch = Watch::default();
        let mut labels = |pages: &[(String, Page)]| {
            let rows = watch.compare(pages.to_vec());
            rows.iter().step_by(2).map(|row| row.host_label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[of("x", 1), of("y", 1)]), ["a", "a"]);
        assert_eq!(labels(&[of("x", 1), of("y", 1), of("z", 2)]), ["a (1)", "a (1)", "a (2)"]);
        // Numbers stay while others come and go.
        assert_eq!(labels(&[of("z", 2)]), ["a (2)"]);
        // An older page has only its name.
        assert_eq!(labels(&[of("old", 0)]), ["a (3)"]);
    }

    #[test]
    fn rates_and_shares_are_those_since_the_look_before() {
        let mut watch = Watch::default();
        let first = watch.compare(vec![page(10.0, [(5000, 0), (0, 0)])]);
        assert_eq!((first[0].tx_rate, first[0].share), (None, None));
        let second = watch.compare(vec![page(12.0, [(8000, 0), (0, 1000)])]);
        assert_eq!((second[0].tx_rate, second[0].rx_rate, second[0].share), (Some(1500.0), Some(0.0), Some(0.75)));
        assert_eq!((second[1].tx_rate, second[1].rx_rate, second[1].share), (Some(0.0), Some(500.0), Some(0.25)));
        // Of a page that says what cannot be.
        let most = watch.compare(vec![page(13.0, [(u64::MAX, u64::MAX), (u64::MAX, u64::MAX)])]);
        assert!(most[0].share.is_some_and(|share| (share - 0.5).abs() < 1e-9));
        watch.compare(vec![page(12.0, [(8000, 0), (0, 1000)])]);
        // It computes and has not shown anything new.
        let third = watch.compare(vec![page(12.0, [(8000, 0), (0, 1000)])]);
        assert_eq!((third[0].tx_rate, third[0].share), (None, None));
    }
}
