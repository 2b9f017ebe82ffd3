//! The status page of an endpoint: live diagnostics for `fishplate top`.

use fishplate_engine::{Instant, RailId};
use fishplate_link_core::Counts;

use super::Endpoint;
use super::tcp::tuning::parallel_streams::StreamsOfRail;
use crate::counters::Counters;
use crate::discover::Class;
use crate::endpoint::link_id::LinkId;
use crate::live::{self, Page, State, StatusFile};
use crate::process;
use crate::rail_bytes::Publisher;

/// Time between two pages, at least, in nanoseconds: a reader does not see more.
const EVERY_NS: u64 = 100_000_000;
/// Writing pages takes at most the time divided by this, however many connections there are.
const PART_OF_TIME: u64 = 200;

pub struct StatusPage {
    file: Option<StatusFile>,
    program: String,
    due: Instant,
}

impl StatusPage {
    /// `name`: a random number. If the file cannot be created, there is no page.
    pub fn begin(wanted: bool, name: u64) -> StatusPage {
        let open = || {
            StatusFile::open(name)
                .inspect_err(|error| log::info!("`fishplate top` will not show this process: {error}"))
        };
        let file = if wanted { open().ok() } else { None };
        StatusPage { file, program: live::program(), due: Instant(0) }
    }
}

/// Diagnostics of an endpoint while it is open, and at its end.
pub struct Diagnostics {
    /// Counts of closed links, by rail.
    pub counters: Counters,
    page: StatusPage,
    rail_bytes: Publisher,
}

impl Diagnostics {
    /// `names`: of the rails, providers' rails and shared memory; `page`: for `fishplate top`.
    pub fn begin<'a>(names: impl Iterator<Item = &'a str>, page: StatusPage) -> Diagnostics {
        let names: Vec<String> = names.map(str::to_string).collect();
        let counters = Counters::new(names.len());
        Diagnostics { counters, page, rail_bytes: Publisher::begin(names.into_iter()) }
    }
}

impl Endpoint {
    /// Publishes the bytes of each rail, if a reader in this process has asked for them.
    pub(super) fn publish_rail_bytes(&self) {
        if self.diagnostics.rail_bytes.is_wanted() {
            self.diagnostics.rail_bytes.publish(self.rail_counts().iter().map(|sum| (sum.tx_bytes, sum.rx_bytes)));
        }
    }

    /// Writes the page when it is due.
    pub(super) fn write_status_page(&mut self, now: Instant) {
        if self.diagnostics.page.file.is_none() || now < self.diagnostics.page.due {
            return;
        }
        let page = self.page(now);
        if let Some(Err(error)) = self.diagnostics.page.file.as_ref().map(|file| file.write(&page)) {
            log::info!("`fishplate top` will not show this process any more: {error}");
            self.diagnostics.page.file = None;
        }
        let took_ns = self.clock.now().since_ns(now);
        self.diagnostics.page.due = now.plus_ns(EVERY_NS.max(took_ns * PART_OF_TIME));
    }

    fn page(&self, now: Instant) -> Page {
        let sums = self.rail_counts();
        let rails = (0..self.host.rails.len()).map(|at| self.rail_page(at, &sums[at]));
        let is_shown = |(at, page): &(usize, live::Rail)| {
            self.host.rails[*at].class == Class::Rail || !matches!(page.state, State::Idle)
        };
        let rails = rails.enumerate().filter(is_shown).map(|(_, page)| page);
        Page {
            schema: live::SCHEMA.to_string(),
            host: process::host().to_string(),
            host_id: Some(process::host_id()),
            pid: std::process::id(),
            rank: process::rank(),
            program: self.diagnostics.page.program.clone(),
            seconds: now.since_ns(Instant(0)) as f64 / 1e9,
            peers: self.peers.iter().filter(|peer| peer.is_connected()).count() as u32,
            waits: self.longest_silence().map(|(peer, since)| {
                let seconds = now.since_ns(since) as f64 / 1e9;
                live::Wait { peer: peer.to_string(), seconds }
            }),
            rails: rails.chain(self.pages_beside_rails(&sums)).collect(),
        }
    }

    fn rail_page(&self, at: usize, sum: &Counts) -> live::Rail {
        let (mut links, mut rtt_ns) = (0, None);
        for link in self.links.tcp.over(RailId(at as u8)) {
            links += 1;
            rtt_ns = rtt_ns.max(Some(link.sampled.rtt_ns));
        }
        let state = if links > 0 { State::Up } else { self.state_without_links(at) };
        let StreamsOfRail { streams, estimate } = self.streams_of(RailId(at as u8));
        live::Rail {
            address: Some(self.host.rails[at].ip()),
            streams: streams as u32,
            flow_rate: estimate.flow.map(|rate| rate as u64),
            port_rate: estimate.port.map(|rate| rate as u64),
            rtt_us: rtt_ns.map(|rtt_ns| rtt_ns / 1000),
            ..rail_without_address(&self.host.rails[at].name, state, links, sum)
        }
    }

    /// Frames with wrong checksums that have come over the rail of a link.
    pub(super) fn changed_frames_of(&self, id: LinkId) -> u64 {
        let rail = self.links.get(id).map_or(0, |link| usize::from(link.common().rail.0));
        self.rail_counts()[rail].changed_frames
    }

    /// Counts of all links of each rail, and of shared memory, closed links included.
    fn rail_counts(&self) -> Vec<Counts> {
        let mut sums: Vec<Counts> =
            (0..=usize::from(self.shared_memory_rail().0)).map(|rail| *self.diagnostics.counters.ended(rail)).collect();
        self.links.iter().for_each(|(_, link)| sums[usize::from(link.common().rail.0)].add(&link.common().counts));
        sums
    }

    fn state_without_links(&self, at: usize) -> State {
        let is_connecting = || self.attempts.count_over(RailId(at as u8)) > 0;
        if self.peers.iter().any(|peer| peer.has_lost_link(RailId(at as u8))) {
            State::Failed
        } else if is_connecting() {
            State::Connecting
        } else if self.diagnostics.counters.has_ended(at) {
            State::Ended
        } else {
            State::Idle
        }
    }
}

/// A rail with counts but without an address.
pub fn rail_without_address(name: &str, state: State, links: u32, sum: &Counts) -> live::Rail {
    live::Rail {
        name: name.to_string(),
        address: None,
        state,
        links,
        streams: links.min(1),
        flow_rate: None,
        port_rate: None,
        tx_bytes: sum.tx_bytes,
        rx_bytes: sum.rx_bytes,
        tx_messages: sum.tx_messages,
        rx_messages: sum.rx_messages,
        rtt_us: None,
        retransmitted_segments: sum.retransmitted_segments,
        changed_frames: sum.changed_frames,
    }
}
