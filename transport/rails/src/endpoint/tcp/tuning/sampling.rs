//! Samples `TCP_INFO` of the links: for the engine, and for congestion control, pacing and streams.

use std::os::fd::AsFd;

use fishplate_engine::{Instant, Path, PortBytes, PortShare, RailId};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::tcp::{TcpLinks, over};
use crate::link::StreamLink;
use crate::socket::SILENT_FOR_NS;
use crate::sys::clock::processor_time_ns;
use crate::sys::interface::Counters;
use crate::sys::option::set_max_pacing_rate;
use crate::sys::tcp_info::{TcpInfo, tcp_info};

impl Endpoint {
    /// Samples all links that were in use since the last call.
    pub(in crate::endpoint) fn sample_paths(&mut self, now: Instant) {
        self.links.tcp.ports.resize_with(self.host.rails.len(), PortShare::default);
        let links: Vec<usize> = self.links.tcp.iter().map(|(at, _)| at).collect();
        for at in links {
            // The failure of one may have ended others.
            if self.links.tcp.contains(at) {
                self.sample_path(at, now);
            }
        }
        let counters = Counters::default();
        self.measure_ports(&counters, now);
        self.adjust_streams(&counters, now);
    }

    /// Measures what this process may queue at the ports of rails for which messages wait.
    fn measure_ports(&mut self, counters: &Counters, now: Instant) {
        let TcpLinks { links, ports, ranks, absence, .. } = &mut self.links.tcp;
        let away_ns = absence.observe(now, processor_time_ns());
        for (at, port) in ports.iter_mut().enumerate().filter(|(_, port)| port.is_busy) {
            port.is_busy = false;
            let rail = RailId(at as u8);
            let Some(interface) = self.host[rail].counted_interface() else { continue };
            let passes = |link: &&StreamLink| !self.host.has(link.remote.ip());
            let own = || over(links, rail).filter(passes).map(|link| link.sampled.acknowledged_bytes).sum();
            let sent = || Some(PortBytes { all: counters.sent_bytes(interface)?, own: own() });
            let Some(room) = port.observe(now, *ranks as u32, away_ns, sent) else { continue };
            for link in over(links, rail).filter(passes) {
                self.engine.port_room_measured(link.common.subchannel, room);
            }
        }
    }

    fn sample_path(&mut self, at: usize, now: Instant) {
        if self.attempts.by_need {
            self.widen_by_use(at, now);
        }
        // Running out of files in the meantime loses all peers.
        let TcpLinks { links, ports, .. } = &mut self.links.tcp;
        let Some(link) = links.get_mut(at) else { return };
        if !self.settings.ablation.is_off(Mechanism::TailLossProbe) {
            self.engine.probe_if_overdue(now, link.common.subchannel);
        }
        self.diagnostics.counters.touch(link.common.rail, &link.common.counts, now);
        if link.unfinished.observe(link.receive.unfinished_record(), now) >= SILENT_FOR_NS {
            return self.link_failed(LinkId::Tcp(at), "an encrypted record has not come to its end for 3 s");
        }
        let is_idle = link.transmit.taken() == link.sampled_at_bytes && !link.sampled.is_waiting() && !link.blocked;
        if is_idle {
            return;
        }
        link.sampled_at_bytes = link.transmit.taken();
        let link_vc = link.common.subchannel.vc;
        let Ok(info) = tcp_info(link.socket.as_fd()) else { return };
        if info.acknowledged_bytes > link.sampled.acknowledged_bytes {
            self.engine.made_progress(now, link.common.subchannel);
        }
        self.diagnostics.counters.measured(link.common.rail, &info);
        // Packets to a peer of this host do not pass the port.
        ports[usize::from(link.common.rail.0)].is_busy |= info.is_waiting() && !self.host.has(link.remote.ip());
        let before = std::mem::replace(&mut link.sampled, info);
        link.unanswered_since = info.is_unanswered(link.probes_often).then(|| link.unanswered_since.unwrap_or(now));
        let is_stuck = info.unacknowledged > 0 && info.acknowledged_bytes == before.acknowledged_bytes;
        link.stuck_since = is_stuck.then(|| link.stuck_since.unwrap_or(now));
        let waited_ns = link.unanswered_since.map_or(0, |since| now.since_ns(since));
        self.widen_if_silent(link_vc, waited_ns, now);
        let Some(link) = self.links.tcp.get_mut(at) else { return };
        // The kernel of a computing peer answers.
        if waited_ns >= SILENT_FOR_NS && info.silent_ns >= SILENT_FOR_NS {
            return self.link_failed(LinkId::Tcp(at), "the other side has not answered for 3 s");
        }
        link.common.counts.retransmitted_segments = u64::from(info.retransmitted);
        self.engine.path_measured(now, link.common.subchannel, path(&info));
        link.congestion_phase.advance(&link.socket, &before, &info);
        let Some(bbr) = link.bbr().filter(|_| !self.settings.ablation.is_off(Mechanism::StartupPacing)) else { return };
        if let Some(most) = link.startup_pacing.update(&bbr, &before, &info) {
            // Without a limit, BBR paces its start itself.
            let _ = set_max_pacing_rate(link.socket.as_fd(), most);
        }
    }
}

/// The sample for the engine.
pub(in crate::endpoint) fn path(info: &TcpInfo) -> Path {
    Path {
        rtt_ns: info.rtt_ns,
        min_rtt_ns: info.min_rtt_ns,
        delivery_rate: (!info.app_limited && info.delivery_rate > 0).then_some(info.delivery_rate as f64),
        window: info.window_bytes(),
    }
}
