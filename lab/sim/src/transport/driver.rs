//! The driver loop of a host: the calls that `transport/rails` makes, in its order, over simulated sockets.

use fishplate_engine::wire::{self, Body, Header};
use fishplate_engine::{Completion, MemoryAction, Placement, Source, Transmit};

use super::arithmetic::Buffers;
use super::connection::{ConnectionEnd, Receiving};
use super::data::Data;
use super::frame::{Encoded, Frame, Load, Segment};
use super::ids::{HostId, LinkId};
use super::ledger::{peer, vc};
use super::link_kind::Flushed;
use super::memory::InvalidAccess;
use super::mutation::Mutation;
use super::oracle::Observation;
use super::trace::{Note, Text};
use super::world::{Event, Host, World};
use crate::events::Duration;

/// Reads of one link in one call, rounds of sending in one call: as in `transport/rails`.
const MAX_READS: usize = 16;
const MAX_RECORDS: usize = 64;
const MAX_ROUNDS: usize = 8;
/// From one call of a busy driver to the next.
const LOOP: Duration = Duration(200);

impl World {
    /// The user of `host` calls the driver, unless it computes.
    pub(super) fn progress(&mut self, host: HostId) {
        let now = self.queue.now();
        if self.hosts[host.0].is_dead || self.hosts[host.0].computes_until > now {
            return;
        }
        let ready = std::mem::take(&mut self.hosts[host.0].ready);
        for link in ready {
            self.read(link);
            if self.flow(link).wants_sender() {
                self.look(link);
            }
            self.flush(link);
        }
        self.hosts[host.0].polled_at = now;
        if !self.drops_timeouts() {
            self.hosts[host.0].engine.handle_timeout(now.into());
            self.probe_overdue(host);
        }
        self.pump(host);
        self.buffer_sends(host);
        self.close_what_the_engine_gave_up(host);
        self.answer_goodbyes(host);
        self.complete(host);
        self.set_timer(host);
        self.plan_tick(host);
    }

    /// As a driver does with each tick.
    fn probe_overdue(&mut self, host: HostId) {
        let now = self.queue.now();
        let Host { links, engine, .. } = &mut self.hosts[host.0];
        for LinkId { connection, end } in links.iter().flatten() {
            let connection = &self.connections[connection.0];
            if !connection.is_in_memory() {
                engine.probe_if_overdue(now.into(), connection.ends[end.0].subchannel);
            }
        }
    }

    fn drops_timeouts(&self) -> bool {
        self.setup.mutation == Some(Mutation::TimeoutForgotten)
    }

    fn set_timer(&mut self, host: HostId) {
        let now = self.queue.now();
        let Some(at) = self.hosts[host.0].engine.poll_timeout().filter(|_| !self.drops_timeouts()) else { return };
        let at = now.max(at.into());
        if self.hosts[host.0].timer.is_none_or(|timer| timer > at) {
            self.hosts[host.0].timer = Some(at);
            self.queue.enter(at, Event::Timer(host));
        }
    }

    /// Reads from a connection, up to the limit of one call.
    pub(super) fn read(&mut self, link: LinkId) {
        let host = self.end(link).host;
        let flow = link.other();
        let had_room = self.flow(flow).has_room();
        let is_in_memory = self.flow(flow).is_in_memory();
        let now = self.queue.now();
        for _ in 0..if is_in_memory { MAX_RECORDS } else { MAX_READS } {
            if self.end(link).is_closed {
                return;
            }
            let Some(segment) = self.flow_mut(flow).read(now) else { break };
            self.hosts[host.0].heard_at = now;
            if !is_in_memory {
                let subchannel = self.end(link).subchannel;
                let polled_at = self.hosts[host.0].polled_at;
                self.hosts[host.0].engine.arrived_after(subchannel, polled_at.into());
                self.hosts[host.0].engine.made_progress(now.into(), subchannel);
            }
            self.receive_segment(link, segment);
            if is_in_memory && self.applies_mutation(Mutation::SlotTwice) {
                self.flow_mut(flow).read_again();
            }
        }
        if is_in_memory {
            self.publish(link);
        }
        if self.flow(flow).has_unread() {
            // The rest in the next call.
            self.queue.after(LOOP, Event::Flow(flow));
        }
        if !had_room && self.flow(flow).has_room() {
            // The window opens.
            self.queue.after(LOOP, Event::Flow(flow));
        }
    }

    fn receive_segment(&mut self, link: LinkId, segment: Segment) {
        if self.take_whole(link, &segment) {
            return;
        }
        if let Some(encoded) = segment.header
            && !self.receive_header(link, &encoded)
        {
            return;
        }
        let data = match &segment.lent {
            None => segment.data,
            Some(lent) => match self.fetch(link, lent) {
                Some(data) => data,
                None => return,
            },
        };
        self.receive_payload(link, &data);
        if segment.is_end {
            self.link_ended(link);
        }
    }

    /// False if the connection is closed.
    fn receive_header(&mut self, link: LinkId, encoded: &Encoded) -> bool {
        let now = self.queue.now();
        let (host, subchannel) = self.at(link);
        self.trace.note(now, &Note::Came(link.connection, host, encoded.bytes()));
        let header = match wire::decode(encoded.bytes()) {
            Ok(Some((header, _))) => header,
            Ok(None) => return self.protocol_violation(link, "its header has no end"),
            Err(malformed) => return self.protocol_violation(link, &malformed.to_string()),
        };
        let is_in_memory = self.flow(link).is_in_memory();
        if header.body == Body::Leave && !is_in_memory && !self.receive_leave(link) {
            return self.protocol_violation(link, "it lets go of a connection that has to stay");
        }
        self.end_mut(link).acknowledged = header.ack;
        self.check_after_leave(link, &header);
        self.end_mut(link).goodbye_received |= header.body == Body::Bye;
        let placement = match self.hosts[host.0].engine.handle_header(now.into(), subchannel, &header) {
            Ok(placement) => placement,
            Err(violation) => return self.protocol_violation(link, &violation.to_string()),
        };
        self.act(host);
        if header.body == Body::Evict && !is_in_memory {
            self.link_evicted(link);
            return false;
        }
        let len = u64::from(header.body.payload_len());
        if let Placement::Bounce(id) = placement {
            let from = self.across(link);
            // Operands are bounded apart.
            let is_message = !matches!(header.body, Body::Atomic { .. });
            self.memories[host.0].open_bounce(id, is_message.then_some(from), len);
            let Host { engine, granted, .. } = &mut self.hosts[host.0];
            let (grant, requested_bytes) = (engine.grant(vc(from)), engine.requested(vc(from)));
            let granted_bytes = granted[from.0].max(grant + requested_bytes);
            granted[from.0] = granted_bytes;
            let may_request = self.setup.config.max_grant.max(grant) / 2;
            self.observe(Observation::Held { host, peer: from, granted_bytes, requested_bytes, may_request });
        }
        let placement = if self.applies_mutation(Mutation::PayloadLost) { Placement::Discard } else { placement };
        let shifts = matches!(header.body, Body::Stripe { .. }) && self.applies_mutation(Mutation::StripeAside);
        let done = u64::from(shifts);
        let receiving = (len > 0).then_some(Receiving { placement, len: len + done, done });
        self.end_mut(link).receiving = receiving;
        true
    }

    /// Checks that after LEAVE no counted frame arrives but refusals.
    fn check_after_leave(&mut self, link: LinkId, header: &Header) {
        let ConnectionEnd { host, retirement, .. } = *self.end(link);
        if retirement.leave_received && header.body.is_counted() && !matches!(header.body, Body::Refused { .. }) {
            let from = self.across(link);
            self.observe(Observation::SentAfterLeave { from, to: host });
        }
    }

    fn receive_payload(&mut self, link: LinkId, data: &Data) {
        let (host, subchannel) = self.at(link);
        let end = &mut self.connections[link.connection.0].ends[link.end.0];
        let Some(receiving) = &mut end.receiving else { return };
        let memory = &mut self.memories[host.0];
        match &receiving.placement {
            Placement::User(place) => memory.scatter(place, receiving.done, data),
            Placement::Bounce(id) => memory.fill_bounce(*id, data),
            Placement::Discard => {}
        }
        receiving.done += data.len();
        if receiving.done >= receiving.len {
            end.receiving = None;
            let now = self.queue.now();
            self.trace.note(now, &Note::Placed(link.connection, host));
            self.hosts[host.0].engine.payload_placed(now.into(), subchannel);
            self.act(host);
        }
    }

    /// A peer has violated the protocol: it is lost.
    pub(super) fn protocol_violation(&mut self, link: LinkId, why: &str) -> bool {
        let host = self.end(link).host;
        let peer = self.across(link);
        self.observe(Observation::ProtocolViolation(host, peer, why));
        self.trace.note(self.queue.now(), &Note::Broken(link.connection, host, why));
        self.lose_peer(host, peer, why);
        false
    }

    /// Sends the engine's frames while sockets are writable.
    pub(super) fn pump(&mut self, host: HostId) {
        let now = self.queue.now();
        if self.hosts[host.0].is_dead {
            return;
        }
        for _ in 0..MAX_ROUNDS {
            let mut dirty = Vec::new();
            while let Some(transmit) = self.hosts[host.0].engine.poll_transmit(now.into()) {
                dirty.extend(self.transmit(host, transmit));
            }
            self.act(host);
            if dirty.is_empty() {
                return;
            }
            dirty.dedup();
            dirty.into_iter().for_each(|link| self.flush(link));
        }
        self.queue.after(LOOP, Event::Back(host));
    }

    /// A frame goes into the queue of its connection.
    pub(super) fn transmit(&mut self, host: HostId, transmit: Transmit) -> Option<LinkId> {
        let Transmit { subchannel, header, source, copy } = transmit;
        let links = &self.hosts[host.0].links[peer(subchannel.vc).0];
        let link = *links.get(usize::from(subchannel.index))?;
        let at = self.end(link);
        if at.is_closed || at.is_shut {
            return None;
        }
        self.enqueue(link, header, (source, copy));
        if self.flow(link).is_in_memory() && self.flow(link).has_waiting() {
            self.look(link);
            if self.flow(link).has_waiting() {
                self.hosts[host.0].engine.writable(subchannel, 0);
            }
        }
        Some(link)
    }

    /// A link takes a frame, whose payload is valid only now if it `is_borrowed`.
    pub(super) fn enqueue(&mut self, link: LinkId, header: Header, (source, is_borrowed): (Source, bool)) {
        let host = self.end(link).host;
        if self.is_dropped_by_mutation(host, &header) {
            return;
        }
        self.end_mut(link).count(&header);
        let header = self.mutated(header);
        let encoded = Encoded::new(&header);
        let bit = self.chance.below(8 * MIN_FLIPPED) as usize;
        let encoded = if self.applies_mutation(Mutation::BitFlip) { encoded.with_flipped_bit(bit) } else { encoded };
        self.trace.note(self.queue.now(), &Note::Sent(link.connection, host, encoded.bytes()));
        let len = source.len();
        let is_in_memory = self.flow(link).is_in_memory();
        // A stream copies a bounce buffer behind the header, as it copies all payloads that need it.
        let early = is_borrowed || matches!(source, Source::Bounce { .. }) && !is_in_memory;
        let load = if early { Load::Copied(self.memories[host.0].gather(&source, 0, len)) } else { Load::Late(source) };
        if self.setup.hostile == Some(host) {
            return self.transmit_hostile(link, header, load, len);
        }
        if header.body == Body::Ack || !self.applies_mutation(Mutation::FrameLost) {
            self.push(link, Frame::new(encoded, load, len));
        }
        if len == 0 && self.applies_mutation(Mutation::FrameTwice) {
            let nothing = Data::blank(self.setup.contents, 0);
            self.push(link, Frame::new(encoded, Load::Copied(nothing), 0));
        }
        if is_in_memory && self.applies_mutation(Mutation::DeliveredEarly) {
            self.deliver_early(link);
        }
    }

    pub(super) fn push(&mut self, link: LinkId, frame: Frame) {
        let (now, host) = (self.queue.now(), self.end(link).host);
        let flow = &mut self.connections[link.connection.0].flows[link.end.0];
        flow.push(now, frame, &mut self.memories[host.0]);
    }

    pub(super) fn flush(&mut self, link: LinkId) {
        let now = self.queue.now();
        let (host, subchannel) = self.at(link);
        if self.end(link).is_closed {
            return;
        }
        let flow = &mut self.connections[link.connection.0].flows[link.end.0];
        let flushed = flow.flush(now, &mut self.memories[host.0]);
        if flushed == Flushed::All {
            self.hosts[host.0].engine.writable(subchannel, self.setup.socket.budget_bytes);
        }
        self.check_read(host, self.across(link));
        self.schedule(link);
    }

    /// Carries out the engine's memory actions.
    pub(super) fn act(&mut self, host: HostId) {
        while let Some(action) = self.hosts[host.0].engine.poll_memory() {
            match &action {
                MemoryAction::Discard(subchannel) => {
                    let link = self.hosts[host.0].links[peer(subchannel.vc).0].get(usize::from(subchannel.index));
                    if let Some(link) = link.copied()
                        && self.setup.mutation != Some(Mutation::WriteAfterEnd)
                        && let Some(receiving) = &mut self.end_mut(link).receiving
                    {
                        receiving.placement = Placement::Discard;
                    }
                }
                MemoryAction::Detach(ended) if self.setup.mutation != Some(Mutation::DetachForgotten) => {
                    self.detach(host, ended);
                }
                MemoryAction::Apply { id, what, to, operands, result } => {
                    let buffers = Buffers { operands: *operands, result: *result };
                    self.apply(host, *id, (what, to), buffers);
                }
                MemoryAction::Release(_) if self.applies_mutation(Mutation::BounceKept) => {}
                action => self.memories[host.0].act(action),
            }
        }
        self.check_memory(host);
    }

    pub(super) fn check_memory(&mut self, host: HostId) {
        if let Some(access) = self.memories[host.0].invalid_accesses.pop() {
            self.observe(Observation::InvalidAccess(host, access));
        }
    }

    /// As [`World::check_memory`], after memory of `host` was read for `peer`: a hostile peer, which acknowledges bytes that it
    /// has not received, may find anything there.
    pub(super) fn check_read(&mut self, host: HostId, peer: HostId) {
        if self.setup.hostile == Some(peer) {
            let is_read = |access: &InvalidAccess| matches!(access, InvalidAccess::Read(_));
            self.memories[host.0].invalid_accesses.retain(|access| !is_read(access));
        }
        self.check_memory(host);
    }

    /// The user takes the completions that there are.
    fn complete(&mut self, host: HostId) {
        while let Some(completion) = self.hosts[host.0].engine.poll_completion() {
            if self.observes(completion.operation)
                || self.is_forged(&completion)
                || self.applies_mutation(Mutation::CompletionLost)
            {
                continue;
            }
            self.completed(host, &completion);
            if self.applies_mutation(Mutation::CompletionTwice) {
                self.completed(host, &completion);
            }
            if self.violation.is_some() {
                return;
            }
        }
    }

    /// A completion that a planted bug has reported already.
    fn is_forged(&self, completion: &Completion) -> bool {
        self.setup.mutation == Some(Mutation::CompletionEarly) && self.ledger.has_ended(completion.context)
    }

    pub(super) fn completed(&mut self, host: HostId, completion: &Completion) {
        let mut completion = completion.clone();
        if completion.operation == fishplate_engine::Operation::Recv
            && self.applies_mutation(Mutation::CompletionWrongOperation)
        {
            completion.result = Err(fishplate_engine::Failure::Cancelled);
        }
        let words = if self.trace.is_logged() { describe(&completion) } else { String::new() };
        let note = Note::Ended(host, completion.context.0, completion.len, Text(&words));
        self.trace.note(self.queue.now(), &note);
        self.observe(Observation::Completed(host, &completion));
        if let Some(region) = self.ledger.complete(host, &completion) {
            self.memories[host.0].reclaim(region);
        }
    }
}

/// Bytes of the shortest header: bits of these can flip in any.
const MIN_FLIPPED: u64 = 16;

fn describe(completion: &Completion) -> String {
    let Completion { operation, envelope, source, result, .. } = completion;
    format!(" ({operation:?}, {envelope:?}, from {source:?}): {result:?}")
}
