//! Commands of users, as issued through the provider.

use fishplate_engine::{
    Completion, Context, Envelope, Extent, Operation, Pattern, Payload, PeekAction, PeekRequest, PostError,
    ReadRequest, RecvRequest, Refusal, Region, Registration, Remote, SendKey, SendRequest, Space, WriteRequest,
};

use super::ids::HostId;
use super::ledger::{Access, Command, MARGIN, Peek, Receive, Send, Target, vc};
use super::mutation::Mutation;
use super::trace::{Note, Text};
use super::world::World;

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its receiver.
    pub to: HostId,
    /// With a tag or without.
    pub envelope: Envelope,
    /// In bytes.
    pub len: u64,
    /// Its memory is the user's again once it is posted.
    pub inject: bool,
    /// The user hears of its end.
    pub notify: bool,
    /// It may be copied, and end before its acknowledgement.
    pub may_be_buffered: bool,
}

/// Memory to read or write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exposure {
    pub to: HostId,
    pub len: u64,
    pub is_write: bool,
    pub wrong: Option<Refusal>,
}

impl World {
    pub(super) fn send(&mut self, host: HostId, outgoing: Outgoing) {
        let Outgoing { to, envelope, len, inject, notify, may_be_buffered } = outgoing;
        let context = self.ledger.next();
        self.note_command(host, context, || format!("send {outgoing:?}"));
        let region = self.memories[host.0].allocate_payload(context.0, len);
        let lent = (!inject).then_some(region);
        let send = Send {
            from: host,
            to,
            envelope,
            len,
            notify,
            region: lent,
            ended: !notify,
            failed: false,
            taken: None,
            claimed: false,
        };
        self.ledger.add(Command::Send(send));
        let payload = self.pieces(region, len, true);
        let request = SendRequest { vc: vc(to), envelope, data: Some(context.0), payload, inject, notify, context };
        if self.send_in_memory(host, &request, may_be_buffered) {
            if inject {
                self.memories[host.0].reclaim(region);
            }
            return self.progress(host);
        }
        match self.hosts[host.0].engine.post_send(request) {
            Ok(key) => {
                if may_be_buffered {
                    self.hosts[host.0].engine.offer_for_buffering(key);
                }
                self.posted((host, to), inject.then_some((key, region)));
                if notify && self.applies_mutation(Mutation::CompletionEarly) {
                    self.complete_early(host, context);
                }
            }
            Err(error) => self.post_refused(host, to, &error),
        }
    }

    pub(super) fn receive(&mut self, host: HostId, pattern: Pattern, len: u64, min_free: Option<u64>) {
        let context = self.ledger.next();
        self.note_command(host, context, || format!("receive {len} bytes, {pattern:?}, {min_free:?}"));
        let (request, region) = self.recv_request(host, pattern, len, min_free, context);
        let multi = min_free.is_some();
        let receive = Receive { host, pattern, len, multi, region, ended: false, cancelled: false };
        self.ledger.add(Command::Receive(receive));
        self.hosts[host.0].engine.post_recv(request);
        self.progress(host);
    }

    fn recv_request(
        &mut self,
        host: HostId,
        pattern: Pattern,
        len: u64,
        min_free: Option<u64>,
        context: Context,
    ) -> (RecvRequest, Region) {
        let region = self.memories[host.0].allocate_blank(len);
        let buffer = self.pieces(region, len, min_free.is_none());
        (RecvRequest { pattern, buffer, multi_min_free: min_free, notify: true, context }, region)
    }

    pub(super) fn peek(&mut self, host: HostId, pattern: Pattern, then: PeekAction) {
        let context = self.ledger.next();
        self.note_command(host, context, || format!("peek {pattern:?}, {then:?}"));
        self.ledger.add(Command::Peek(Peek { host, pattern, then, ended: false }));
        self.hosts[host.0].engine.peek(PeekRequest { pattern, then, context });
        self.progress(host);
    }

    /// Receives or drops the message that was claimed first; false if there is none.
    pub(super) fn settle_claim(&mut self, host: HostId, discard: bool) -> bool {
        let claims = self.ledger.claims.entry(host).or_default();
        if claims.is_empty() {
            return false;
        }
        let (context, id) = claims.remove(0);
        let Some(message) = self.ledger.send(id) else { return true };
        let (envelope, len) = (message.envelope, message.len);
        self.note_command(host, context, || format!("settle claim, discard: {discard}"));
        if discard {
            self.hosts[host.0].engine.discard_claimed(context);
        } else {
            let pattern = Pattern { space: space(envelope), source: None };
            let (request, region) = self.recv_request(host, pattern, len, None, context);
            let there = self.hosts[host.0].engine.recv_claimed(request);
            let receive = Receive { host, pattern, len, multi: false, region, ended: !there, cancelled: false };
            self.ledger.replace(context, Command::Receive(receive));
        }
        self.progress(host);
        true
    }

    pub(super) fn cancel(&mut self, host: HostId, context: Context) {
        self.note_command(host, context, || "cancel".into());
        if let Some(Command::Receive(receive)) = self.ledger.get_mut(context) {
            receive.cancelled = true;
        }
        self.hosts[host.0].engine.cancel(context);
        self.progress(host);
    }

    /// Reads or writes memory of a peer that is registered for this.
    pub(super) fn access(&mut self, host: HostId, exposure: Exposure, (inject, notify, with_data): (bool, bool, bool)) {
        let Exposure { to, len, is_write, wrong } = exposure;
        let context = self.ledger.next();
        self.note_command(host, context, || format!("access {exposure:?}, inject: {inject}, tells: {with_data}"));
        let (target, remote) = self.expose(context, exposure);
        let memory = &mut self.memories[host.0];
        let local = if is_write { memory.allocate_payload(context.0, len) } else { memory.allocate_blank(len) };
        self.ledger.add(Command::Access(Access {
            from: host,
            to,
            len,
            is_write,
            notify,
            wrong,
            local: (!inject).then_some(local),
            target: Target::Registered(target),
            with_data,
            reported: false,
            succeeded: false,
            ended: !notify && wrong.is_none(),
        }));
        let payload = self.pieces(local, len, true);
        let (vc, data) = (vc(to), with_data.then_some(context.0));
        let engine = &mut self.hosts[host.0].engine;
        let posted = if is_write {
            let request = WriteRequest { vc, to: remote, data, payload, inject, notify, context };
            engine.post_write(request).map(Some)
        } else {
            engine.post_read(ReadRequest { vc, from: remote, buffer: payload, notify, context }).map(|()| None)
        };
        match posted {
            Ok(key) => self.posted((host, to), key.filter(|_| inject).map(|key| (key, local))),
            Err(error) => {
                self.end_exposure(context);
                self.post_refused(host, to, &error);
            }
        }
    }

    /// Registers memory, with a margin; the address of the bytes, or one that is wrong.
    fn expose(&mut self, context: Context, exposure: Exposure) -> (Region, Remote) {
        let Exposure { to, len, is_write, wrong } = exposure;
        let base = self.random.pick(&[0, 0x7fff_0000]);
        let memory = &mut self.memories[to.0];
        let region = if is_write {
            memory.allocate_blank(len + 2 * MARGIN)
        } else {
            memory.allocate_with_margin(context.0, len, MARGIN)
        };
        let right = wrong != Some(Refusal::Rights);
        let (readable, writable) = (right && !is_write, right && is_write);
        let memory = Payload::One(Extent { region, offset: 0, len: len + 2 * MARGIN });
        let key = context.0;
        // Keys are never used twice.
        let _ = self.hosts[to.0].engine.register(Registration { key, memory, base, readable, writable });
        let at = Remote { key, address: base + MARGIN };
        let remote = match wrong {
            Some(Refusal::Key) => Remote { key: u64::MAX - key, ..at },
            Some(Refusal::Bounds) => {
                let beyond = [base + 2 * MARGIN + 1, base.wrapping_sub(1), u64::MAX, base + len + 2 * MARGIN + 1];
                Remote { address: self.random.pick(&beyond), ..at }
            }
            _ => at,
        };
        (region, remote)
    }

    /// Registered memory is given back.
    pub(super) fn end_exposure(&mut self, context: Context) {
        let Some(Command::Access(access)) = self.ledger.get(context) else { return };
        let Target::Registered(region) = access.target else { return };
        let host = access.to;
        self.note_command(host, context, || "end of registered memory".into());
        self.hosts[host.0].engine.deregister(context.0);
        self.act(host);
        let data = self.memories[host.0].reclaim(region);
        if let Some(Command::Access(access)) = self.ledger.get_mut(context) {
            access.target = Target::Ended(data);
        }
        self.progress(host);
    }

    /// Something was posted; what was injected is the user's again when this returns.
    pub(super) fn posted(&mut self, (host, to): (HostId, HostId), injected: Option<(SendKey, Region)>) {
        self.pump(host);
        if let Some((key, region)) = injected {
            let is_kept = self.is_in_memory(host, to) && self.hosts[host.0].engine.keep_sent(key);
            if !is_kept && !self.applies_mutation(Mutation::InjectNotCopied) {
                let copy = self.hosts[host.0].engine.detach(key);
                copy.into_iter().for_each(|copy| self.memories[host.0].act(&copy));
            }
            self.act(host);
            self.memories[host.0].reclaim(region);
        }
        self.progress(host);
    }

    /// A planted bug: the send is said to have succeeded before anything has happened.
    fn complete_early(&mut self, host: HostId, context: Context) {
        let Some(Command::Send(send)) = self.ledger.get(context) else { return };
        if send.ended {
            return;
        }
        let completion = Completion {
            context,
            operation: Operation::Send,
            envelope: send.envelope,
            data: None,
            len: send.len,
            source: None,
            placed: None,
            buffer_released: false,
            result: Ok(()),
        };
        self.completed(host, &completion);
    }

    pub(super) fn post_refused(&mut self, host: HostId, to: HostId, error: &PostError) {
        self.ledger.remove_last();
        if !self.ledger.may_lose_each_other(host, to) {
            self.report("completes-once", format!("{host} cannot post to {to}: {error:?}"));
        }
    }

    /// One piece of memory, or sometimes the same bytes in several pieces.
    fn pieces(&mut self, region: Region, len: u64, may_be_many: bool) -> Payload {
        let extent = Extent { region, offset: 0, len };
        if !may_be_many || !self.random.percent(10) {
            return Payload::One(extent);
        }
        let third = len / 3;
        Payload::Many(Box::new([extent.slice(0, third), extent.slice(third, 0), extent.slice(third, len)]))
    }

    fn note_command(&mut self, host: HostId, context: Context, what: impl FnOnce() -> String) {
        self.operations += 1;
        // The text is for readers; the numbers are enough for the hash.
        let what = if self.trace.is_logged() { what() } else { String::new() };
        self.trace.note(self.queue.now(), &Note::Command(host, context.0, Text(&what)));
    }
}

/// Where a message matches, and nothing else does.
fn space(envelope: Envelope) -> Space {
    match envelope {
        Envelope::Message => Space::Message,
        Envelope::Tagged(tag) => Space::Tagged { tag, ignore: 0 },
    }
}
