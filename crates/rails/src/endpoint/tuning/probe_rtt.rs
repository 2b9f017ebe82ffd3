//! Rests: a link that rests sends what it has, and takes nothing new (see [`crate::link::Rests`]).

use std::os::fd::AsFd;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;
use crate::sys::bbr::Bbr;
use crate::sys::tcp_info::{TcpInfo, tcp_info};

impl Endpoint {
    /// Looks whether link `at`, of which BBR and the kernel say that, is to rest. None does where nobody would end that while
    /// the user is away.
    pub(in crate::endpoint) fn look_at_rest(&mut self, at: usize, bbr: &Bbr, info: &TcpInfo, now: Instant) {
        let link = &mut self.links[at];
        let rested = link.rests.is_on();
        if !self.held.watched && !rested {
            return;
        }
        let waiting = link.transmit.len();
        link.rests.look(now, bbr, info, waiting);
        let pads = link.rests.is_to_pad(now, bbr, info, waiting);
        match (rested, link.rests.is_on()) {
            (false, true) => self.pause(at),
            (true, false) => {
                self.go_on(at);
                self.show_path(at, info, now);
            }
            _ if pads => self.show_path(at, info, now),
            _ => {}
        }
    }

    /// Looks at the links that rest, whether the user looks at the network or not. True if one goes on.
    pub(in crate::endpoint) fn look_after_rests(&mut self, now: Instant) -> bool {
        let before = self.resting.len();
        self.end_rests(now);
        for at in self.resting.clone() {
            // The failure of one may have ended others.
            let Some(link) = self.links.get(at) else { continue };
            if let (Some(bbr), Ok(info)) = (link.bbr(), tcp_info(link.socket.as_fd())) {
                self.look_at_rest(at, &bbr, &info, now);
            }
        }
        self.resting.len() < before
    }

    /// Ends rests that have lasted as long as one may.
    pub(in crate::endpoint) fn end_rests(&mut self, now: Instant) {
        while let Some(at) = self.resting.iter().copied().find(|at| self.links[*at].rests.end_at_latest(now)) {
            self.go_on(at);
        }
    }

    /// Link `at` rests from now on.
    fn pause(&mut self, at: usize) {
        self.resting.push(at);
        self.engine.rest(self.links[at].subchannel, true);
    }

    /// Link `at` does not rest any more.
    fn go_on(&mut self, at: usize) {
        self.resting.retain(|other| *other != at);
        let link = &self.links[at];
        self.engine.rest(link.subchannel, false);
        if link.transmit.is_empty() {
            self.engine.writable(link.subchannel, BUDGET);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant as Monotonic;

    use fishplate_engine::{Completion, Context, Envelope, Operation, Pattern, RecvRequest, SendRequest, Space};

    use super::*;
    use crate::endpoint::test_pair::{PATIENCE, Pair, extent};
    use crate::link::Rests;

    /// BBR is about to look at link `at` of the first endpoint.
    fn rest(pair: &mut Pair, at: usize) {
        let end = &mut pair.ends[0];
        end.links[at].rests = Rests::begun(end.clock.now().plus_ns(3_600_000_000_000));
        end.pause(at);
    }

    /// BBR would have looked at it long ago.
    fn rest_too_long(pair: &mut Pair, at: usize) {
        let begin = Monotonic::now();
        pair.ends[0].links[at].rests = Rests::begun(Instant(0));
        while !pair.ends[0].links[at].rests.is_late(pair.now(0)) {
            assert!(begin.elapsed() < PATIENCE, "the clock stands still");
        }
    }

    fn only_link(end: &Endpoint) -> usize {
        end.links.iter().next().unwrap().0
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
        pair.set_up_more(0, 1);
        pair.exchange_until(2);
        rest(&mut pair, at);
        let messages = |pair: &Pair| pair.ends[0].links[at].counts.tx_messages;
        let before = messages(&pair);
        for byte in 0..100 {
            send(&mut pair, &[byte; 8]);
            receive(&mut pair);
        }
        assert_eq!(messages(&pair), before);
        pair.ends[0].remove_link(at);
        assert!(pair.ends[0].resting.is_empty());
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
        assert!(pair.ends[0].is_holding(), "nobody would look after it");
        rest_too_long(&mut pair, at);
        pair.ends[0].look_after_waiting();
        assert!(!pair.ends[0].is_holding());
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
        assert!(pair.ends[0].resting.is_empty());
        receive(&mut pair);
        pair.close();
    }
}
