//! Additional streams: their set-up while others carry data, and their orderly shutdown, as `transport/rails` does it.

use fishplate_engine::limits::{MAX_STREAMS, MAX_TO_A_PEER};
use fishplate_engine::retire::Retirement;
use fishplate_engine::wire::Body;
use fishplate_engine::{Payload, Source, Transmit};

use super::data::Data;
use super::ids::{ConnectionId, End, HostId, LinkId};
use super::ledger::peer;
use super::mutation::Mutation;
use super::oracle::Observation;
use super::stream_changes::{Change, Streams};
use super::trace::Note;
use super::world::{Event, World};
use crate::events::{Duration, Time};

/// How often a driver services retiring links.
const TICK: Duration = Duration::ms(5);

impl World {
    /// A planned change: a host sets up a stream, or retires one.
    pub(super) fn change_streams(&mut self, at: usize) {
        let (_, change) = self.setup.changes[at];
        let (Change::More(streams) | Change::Fewer(streams)) = change;
        let Streams { by, to, .. } = streams;
        if self.is_put_off(by, Event::Change(at)) || !self.may_connect(by, to) {
            return;
        }
        match change {
            Change::More(_) => self.add_stream(streams),
            Change::Fewer(_) => self.retire_stream(streams),
        }
    }

    fn add_stream(&mut self, Streams { by, to, rail }: Streams) {
        let (from, into) = (self.open_links(by, to), self.open_links(to, by));
        let on_rail = into.iter().filter(|link| self.connections[link.connection.0].rail == rail).count();
        let has_room = from.len().max(into.len()) < MAX_TO_A_PEER && on_rail < usize::from(MAX_STREAMS);
        if has_room && !self.is_out(by, to, rail) && !from.is_empty() && !into.is_empty() {
            self.connect(by, to, rail, true);
            self.progress(by);
            self.progress(to);
        }
    }

    fn retire_stream(&mut self, Streams { by, to, rail }: Streams) {
        let links = self.open_links(by, to);
        let own = links.into_iter().find(|link| {
            let connection = &self.connections[link.connection.0];
            let is_own = connection.is_additional && link.end == End(0) && connection.rail == rail;
            is_own && !self.end(*link).retirement.has_begun()
        });
        if let Some(link) = own {
            self.send_leave(link);
            self.progress(by);
        }
    }

    /// The links of a host to a peer that it has not closed.
    fn open_links(&self, host: HostId, peer: HostId) -> Vec<LinkId> {
        let links = self.hosts[host.0].links[peer.0].iter().copied();
        links.filter(|link| !self.end(*link).is_closed).collect()
    }

    /// Retires a link, unless it is the last to the peer: sends LEAVE, and then only acknowledgements.
    fn send_leave(&mut self, link: LinkId) {
        let (host, subchannel) = self.at(link);
        if self.setup.mutation != Some(Mutation::LeaveUnmeant) && !self.hosts[host.0].engine.retire(subchannel) {
            return;
        }
        self.end_mut(link).retirement.leave_sent = true;
        self.hosts[host.0].forgets = self.setup.mutation == Some(Mutation::OrphanForgotten);
        self.say(link, Body::Leave);
    }

    /// Sends a header that belongs to no message.
    pub(super) fn say(&mut self, link: LinkId, body: Body) {
        let now = self.queue.now();
        let (host, subchannel) = self.at(link);
        let header = self.hosts[host.0].engine.bare_header(now.into(), subchannel, body);
        let source = Source::User(Payload::EMPTY);
        self.transmit(host, Transmit { subchannel, header, source, copy: false });
        self.flush(link);
    }

    /// The peer retires a link. False: it must not.
    pub(super) fn receive_leave(&mut self, link: LinkId) -> bool {
        let connection = &mut self.connections[link.connection.0];
        let is_own = link.end == End(0);
        connection.ends[link.end.0].retirement.receive_leave(connection.is_additional, is_own)
    }

    /// A driver's tick: it services retiring links.
    pub(super) fn tick(&mut self, host: HostId) {
        if self.is_put_off(host, Event::Tick(host)) {
            return;
        }
        self.hosts[host.0].ticks = false;
        if !self.hosts[host.0].is_dead {
            self.continue_retirement(host);
            self.progress(host);
        }
    }

    /// Schedules a tick if the retirement of a link can continue.
    pub(super) fn plan_tick(&mut self, host: HostId) {
        let is_needed = || self.retiring(host).any(|link| self.has_next_step(link));
        if !self.setup.changes.is_empty() && !self.hosts[host.0].ticks && is_needed() {
            self.hosts[host.0].ticks = true;
            let after = Duration(self.chance.of_any_size(TICK.0));
            self.queue.after(after, Event::Tick(host));
        }
    }

    /// The links of a host that either side has begun to retire.
    fn retiring(&self, host: HostId) -> impl Iterator<Item = LinkId> {
        let links = self.hosts[host.0].links.iter().flatten().copied();
        links.filter(|link| {
            let end = self.end(*link);
            !end.is_closed && end.retirement.has_begun() && !end.retirement.is_shut
        })
    }

    fn has_next_step(&self, link: LinkId) -> bool {
        let retirement = self.end(link).retirement;
        if retirement.leave_sent { self.may_shut(link) } else { self.may_accept_retirement(link) }
    }

    /// Whether to answer the peer's LEAVE: the link is not the last one in use.
    fn may_accept_retirement(&self, link: LinkId) -> bool {
        let host = self.end(link).host;
        let links = self.open_links(host, self.across(link));
        let answers = self.setup.mutation != Some(Mutation::LeaveUnanswered);
        answers && links.iter().filter(|link| !self.end(**link).retirement.leave_sent).count() > 1
    }

    /// Whether both sides have sent LEAVE on a link set up by this side, and no data is in flight.
    fn may_shut(&self, link: LinkId) -> bool {
        let at = self.end(link);
        let is_own = link.end == End(0) && at.retirement.leave_received;
        let is_drained = self.hosts[at.host.0].engine.is_drained(at.subchannel);
        is_own && (is_drained || self.setup.mutation == Some(Mutation::ShutEarly)) && !self.flow(link).has_waiting()
    }

    /// Answers LEAVE, and shuts links down that are drained.
    fn continue_retirement(&mut self, host: HostId) {
        let retiring: Vec<LinkId> = self.retiring(host).collect();
        for link in retiring {
            if !self.has_next_step(link) {
                continue;
            }
            if self.end(link).retirement.leave_sent {
                self.end_mut(link).retirement.is_shut = true;
                self.shut_down(link);
            } else {
                self.send_leave(link);
            }
        }
    }

    /// Shuts the sending side down; what was sent arrives.
    pub(super) fn shut_down(&mut self, link: LinkId) {
        let now = self.queue.now();
        let host = self.end(link).host;
        self.trace.note(now, &Note::Shut(link.connection, host));
        let nothing = Data::blank(self.setup.contents, 0);
        self.flow_mut(link).shut(now, nothing);
        self.schedule(link);
    }

    /// The peer has shut a link down.
    pub(super) fn link_ended(&mut self, link: LinkId) {
        let now = self.queue.now();
        let Retirement { leave_sent, leave_received, is_shut } = self.end(link).retirement;
        if (!leave_sent || !leave_received) && self.link_parted(link) {
            return;
        }
        if !leave_sent || !leave_received {
            return self.link_failed(link, "the connection was closed without a goodbye");
        }
        let (host, subchannel) = self.at(link);
        let at = self.end(link);
        // A peer that answers a goodbye has all that it has sent acknowledged, and does not wait for what still comes.
        let has_parted = at.goodbye_sent || at.goodbye_received;
        let is_drained = at.counted == at.acknowledged || has_parted;
        self.retired += 1;
        self.observe(Observation::Retired { host, peer: peer(subchannel.vc), is_drained });
        let at = self.end_mut(link);
        at.is_closed = true;
        at.receiving = None;
        if !is_shut {
            self.shut_down(link);
        }
        self.hosts[host.0].engine.subchannel_down(now.into(), subchannel, "it was let go");
        self.act(host);
    }

    /// All connections between two hosts fail, except for those that are being retired.
    pub(super) fn sever(&mut self, a: HostId, b: HostId) {
        for at in 0..self.connections.len() {
            let connection = &self.connections[at];
            let is_left = connection.ends.iter().any(|end| end.retirement.has_begun());
            if connection.is_between(a, b) && connection.is_open() && !is_left {
                self.cut(ConnectionId(at));
            }
        }
    }

    /// Checks at the end of a run that all retirements are complete.
    pub(super) fn check_retirements(&mut self) {
        for host in (0..self.setup.hosts).map(HostId) {
            let unfinished: Vec<LinkId> = self.retiring(host).collect();
            for link in unfinished {
                let peer = self.across(link);
                self.observe(Observation::NotRetired { host, peer });
            }
        }
    }
}

impl World {
    /// When the last planned event happens.
    pub(super) fn last_planned(&self) -> Time {
        let fault = self.setup.faults.last().map(|(at, _)| *at);
        let change = self.setup.changes.last().map(|(at, _)| *at);
        fault.max(change).unwrap_or(Time::START)
    }
}
