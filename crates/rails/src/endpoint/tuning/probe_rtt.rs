//! ProbeRTT avoidance: a paused link sends what it has queued and takes nothing new from the engine, so that its path runs
//! empty before BBR would make it do so (see [`crate::link::ProbeRttAvoidance`]).

use std::os::fd::AsFd;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;
use crate::sys::bbr::Bbr;
use crate::sys::tcp_info::{TcpInfo, tcp_info};

impl Endpoint {
    /// Pauses or resumes link `at`, given what BBR and the kernel say. None is paused where no progress thread would resume it
    /// while the application is not in MPI.
    pub(in crate::endpoint) fn update_probe_rtt(&mut self, at: usize, bbr: &Bbr, info: &TcpInfo, now: Instant) {
        let link = &mut self.links.streams[at];
        let was_paused = link.probe_rtt.is_paused();
        if !self.held.enabled && !was_paused {
            return;
        }
        let waiting = link.transmit.len();
        link.probe_rtt.update(now, bbr, info, waiting);
        let is_probe_due = link.probe_rtt.should_probe(now, bbr, info, waiting);
        match (was_paused, link.probe_rtt.is_paused()) {
            (false, true) => self.pause_link(at),
            (true, false) => {
                self.resume_link(at);
                self.send_path_probe(at, info, now);
            }
            _ if is_probe_due => self.send_path_probe(at, info, now),
            _ => {}
        }
    }

    /// Samples the paused links, whether the user makes progress calls or not. True if one is resumed.
    pub(in crate::endpoint) fn service_paused_links(&mut self, now: Instant) -> bool {
        let before = self.paused_links.len();
        self.resume_overdue_links(now);
        for at in self.paused_links.clone() {
            // The failure of one may have ended others.
            let Some(link) = self.links.streams.get(at) else { continue };
            if let (Some(bbr), Ok(info)) = (link.bbr(), tcp_info(link.socket.as_fd())) {
                self.update_probe_rtt(at, &bbr, &info, now);
            }
        }
        self.paused_links.len() < before
    }

    /// Resumes links that have been paused for as long as one may be.
    pub(in crate::endpoint) fn resume_overdue_links(&mut self, now: Instant) {
        while let Some(at) =
            self.paused_links.iter().copied().find(|at| self.links.streams[*at].probe_rtt.end_if_overdue(now))
        {
            self.resume_link(at);
        }
    }

    /// Link `at` takes nothing new from now on.
    fn pause_link(&mut self, at: usize) {
        self.paused_links.push(at);
        self.engine.set_paused(self.links.streams[at].common.subchannel, true);
    }

    /// Link `at` takes frames again.
    fn resume_link(&mut self, at: usize) {
        self.paused_links.retain(|other| *other != at);
        let link = &self.links.streams[at];
        self.engine.set_paused(link.common.subchannel, false);
        if link.transmit.is_empty() {
            self.engine.writable(link.common.subchannel, BUDGET);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant as Monotonic;

    use fishplate_engine::{Completion, Context, Envelope, Operation, Pattern, RecvRequest, SendRequest, Space};

    use super::*;
    use crate::endpoint::test_pair::{PATIENCE, Pair, extent};
    use crate::link::ProbeRttAvoidance;
    use crate::link_kind::LinkId;

    /// BBR is about to enter ProbeRTT on link `at` of the first endpoint.
    fn rest(pair: &mut Pair, at: usize) {
        let end = &mut pair.ends[0];
        end.links.streams[at].probe_rtt = ProbeRttAvoidance::paused_until(end.clock.now().plus_ns(3_600_000_000_000));
        end.pause_link(at);
    }

    /// ProbeRTT would have been due long ago.
    fn rest_too_long(pair: &mut Pair, at: usize) {
        let begin = Monotonic::now();
        pair.ends[0].links.streams[at].probe_rtt = ProbeRttAvoidance::paused_until(Instant(0));
        while !pair.ends[0].links.streams[at].probe_rtt.is_overdue(pair.now(0)) {
            assert!(begin.elapsed() < PATIENCE, "the clock stands still");
        }
    }

    fn only_link(end: &Endpoint) -> usize {
        end.links.streams.iter().next().unwrap().0
    }

    /// Posts 8 bytes, which the second endpoint receives somewhere.
    fn send(pair: &mut Pair, sent: &[u8; 8]) {
        let pattern = Pattern { space: Space::Message, source: None };
        let buffer = extent(Box::leak(Box::new([0; 8])));
        pair.ends[1].recv(RecvRequest { pattern, buffer, multi_min_free: None, notify: true, context: Context(900) });
        let (vc, envelope, payload, context) = (pair.names[0], Envelope::Message, extent(sent), Context(901));
        let send = SendRequest { vc, envelope, data: None, payload, inject: true, notify: false, context };
        pair.ends[0].send(send).unwrap();
    }

    fn received(end: &mut Endpoint) -> bool {
        let is_receive = |completion: &Completion| completion.operation == Operation::Recv;
        std::iter::from_fn(|| end.poll_completion()).any(|completion| is_receive(&completion))
    }

    /// The second endpoint alone progresses until it has received something.
    fn receive(pair: &mut Pair) {
        let begin = Monotonic::now();
        while !received(&mut pair.ends[1]) {
            pair.ends[1].progress();
            assert!(begin.elapsed() < PATIENCE, "nothing came");
        }
    }

    #[test]
    fn others_carry_while_a_link_rests() {
        let mut pair = Pair::open();
        let at = only_link(&pair.ends[0]);
        pair.add_streams(0, 1);
        pair.exchange_until(2);
        rest(&mut pair, at);
        let messages = |pair: &Pair| pair.ends[0].links.streams[at].common.counts.tx_messages;
        let before = messages(&pair);
        for byte in 0..100 {
            send(&mut pair, &[byte; 8]);
            receive(&mut pair);
        }
        assert_eq!(messages(&pair), before);
        pair.ends[0].remove_link(LinkId::Stream(at));
        assert!(pair.ends[0].paused_links.is_empty());
    }

    #[test]
    fn what_waits_for_the_only_link_leaves_when_it_has_rested_though_its_user_is_away() {
        let mut pair = Pair::open();
        let at = only_link(&pair.ends[0]);
        rest(&mut pair, at);
        send(&mut pair, &[7; 8]);
        for _ in 0..100 {
            pair.ends.iter_mut().for_each(|end| _ = end.progress());
            assert!(!received(&mut pair.ends[1]));
        }
        assert!(pair.ends[0].has_deferred_work(), "nobody would look after it");
        rest_too_long(&mut pair, at);
        pair.ends[0].service_deferred();
        assert!(!pair.ends[0].has_deferred_work());
        receive(&mut pair);
        pair.close();
    }

    #[test]
    fn the_next_message_ends_a_rest_that_has_lasted_too_long() {
        let mut pair = Pair::open();
        let at = only_link(&pair.ends[0]);
        rest(&mut pair, at);
        rest_too_long(&mut pair, at);
        send(&mut pair, &[7; 8]);
        assert!(pair.ends[0].paused_links.is_empty());
        receive(&mut pair);
        pair.close();
    }
}
