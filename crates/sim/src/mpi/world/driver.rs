//! The driver's part: frames from the engine to sockets and adapters, timers, what the kernel has measured.

use fishplate_engine::Completion;
use fishplate_engine::wire::{Header, MAX_HEADER_LEN};

use super::{Event, Frame, World};
use crate::models::flow::FlowId;
use crate::models::time::Time;
use crate::mpi::flow_ends::FlowEnds;
use crate::mpi::rank::{Rank, Request};
use crate::mpi::tcp_info::LOOK_AFTER;

/// How often the thread that watches over a process looks, and how long something may wait before it sees to it
/// (crates/provider: `progress_thread.rs`).
const GUARD_PERIOD: Time = Time::ms(1);

impl World {
    /// What a process's engine wants, after every command and event.
    pub fn attend(&mut self, rank: u32) {
        let now = self.calendar.now();
        self.look_at_paths(rank);
        let mut handed = (Vec::new(), 0);
        loop {
            let process = &mut self.ranks[rank as usize];
            let Some(transmit) = process.engine.poll_transmit(now.instant()) else { break };
            let (body, payload) = (transmit.header.body, u64::from(transmit.header.body.payload_len()));
            let cost = process.costs.out(&body);
            let at = if cost == Time::default() { now } else { process.work(now, cost) };
            let bytes = payload + if self.kind.headers { encoded_len(&transmit.header) } else { 0 };
            let out = process.out(transmit.subchannel);
            let flow = out.flow;
            let frame = Frame { header: transmit.header, bytes, has_begun: false };
            if body.is_counted() || self.kind.acknowledges {
                out.queued += bytes;
                let is_batched = process.costs.is_batched();
                self.frames_sent += u64::from(body.is_counted());
                let frame = self.new_frame(frame);
                if is_batched {
                    handed.0.push((flow, frame));
                    handed.1 += bytes;
                } else {
                    self.calendar.enter(at, Event::Post { flow, frame });
                    self.calendar.enter(at, Event::Flush(flow));
                }
            } else {
                // The adapters acknowledge; what the engine would add takes no bandwidth.
                let frame = self.new_frame(frame);
                let at = at + self.network.path(flow).latency();
                self.calendar.enter(at, Event::Aside { flow, frame });
            }
        }
        if !handed.0.is_empty() {
            let frames = self.ranks[rank as usize].hand_over(handed.0, handed.1);
            self.send_together(rank, frames);
        }
        let process = &mut self.ranks[rank as usize];
        complete_all(process);
        let waits = |(_, flow): &(_, FlowId)| self.network.is_blocked(*flow);
        if self.kind.acknowledges && process.engine.has_buffer_candidates() && !process.subchannels().iter().any(waits)
        {
            end_sends_early(process, now);
        }
        if process.take_woken() {
            self.make_ready(rank);
        }
        if self.kind.acknowledges {
            self.set_timer(rank);
        }
    }

    /// A driver tells its engine what the kernel has measured, now and then.
    fn look_at_paths(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        if !self.kind.acknowledges || now < process.next_look {
            return;
        }
        process.next_look = now + LOOK_AFTER;
        for (subchannel, flow) in process.subchannels() {
            if let Some(path) = self.kernels.look(now, flow) {
                process.engine.path_measured(now.instant(), subchannel, path);
            }
        }
    }

    /// A frame is handed to its adapter; what the kernel has to acknowledge goes with it.
    pub(super) fn posted(&mut self, flow: FlowId, frame: u32) {
        let now = self.calendar.now();
        let body = &self.frames[frame as usize].header.body;
        let payload = if body.is_counted() { u64::from(body.payload_len()) } else { 0 };
        self.kernels.sends(now, flow, payload);
    }

    /// A driver hands its kernel what it has for a flow: once the kernel has all, the subchannel takes more.
    pub(super) fn flush(&mut self, flow: FlowId) {
        if !self.network.has_socket(flow) || self.network.is_blocked(flow) {
            return;
        }
        let has_all = self.network.flush(&mut self.calendar, flow);
        self.hear();
        if let Some(budget) = self.ways.budget().filter(|_| has_all) {
            let FlowEnds { from, from_subchannel, .. } = self.ends[flow.0 as usize];
            self.ranks[from as usize].engine.writable(from_subchannel, budget);
            self.attend(from);
        }
    }

    /// A kernel takes more: the process finds out when it looks at the network.
    pub(super) fn writable(&mut self, flow: FlowId) {
        let process = &mut self.ranks[self.ends[flow.0 as usize].from as usize];
        let at = process.work(self.calendar.now(), process.costs.transmit);
        self.calendar.enter(at, Event::Flush(flow));
    }

    /// Something has left an adapter that has no socket in front: it takes as much more.
    pub(super) fn left(&mut self, flow: FlowId, bytes: u64) {
        let FlowEnds { from, from_subchannel, .. } = self.ends[flow.0 as usize];
        let Some(budget) = self.ways.budget().filter(|_| !self.network.has_socket(flow)) else { return };
        let process = &mut self.ranks[from as usize];
        let out = process.out(from_subchannel);
        out.queued = out.queued.saturating_sub(bytes);
        let free = budget.saturating_sub(out.queued);
        process.engine.writable(from_subchannel, free);
        self.attend(from);
    }

    /// Enters the time that an engine asks for, unless an earlier one is entered.
    fn set_timer(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let Some(at) = process.engine.poll_timeout().map(Time::of_instant) else { return };
        if process.timer.is_none_or(|timer| at < timer) {
            process.timer = Some(at);
            self.calendar.enter(at, Event::Timeout(rank));
        }
    }

    pub(super) fn time_out(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        // Once it looks at the network; a thread may see to it before.
        if process.is_away {
            process.timer = None;
            return self.alert_guard(rank);
        }
        // A busy core comes back to it later.
        if process.core_free > now {
            let free = process.core_free;
            return self.calendar.enter(free, Event::Timeout(rank));
        }
        process.timer = None;
        process.engine.handle_timeout(now.instant());
        self.attend(rank);
    }

    /// The program of `rank` computes for so long, and calls nothing meanwhile.
    pub fn goes_away(&mut self, rank: u32, time: Time) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        process.computes_until = process.core_free.later(now) + time;
        process.is_away = self.kind.acknowledges;
        self.alert_guard(rank);
    }

    /// Wakes the thread that watches over a process that computes, if there may be something to do.
    fn alert_guard(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        let has_work = process.holds_back() || process.engine.owes_acknowledgement();
        if self.kind.acknowledges && has_work && process.computes_until > now && !process.is_guarded {
            process.is_guarded = true;
            self.calendar.enter(now + GUARD_PERIOD, Event::Guard(rank));
        }
    }

    /// The thread looks: what was held back, and acknowledgements that are owed, go out after a while.
    pub(super) fn look_after(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        process.is_guarded = false;
        if process.computes_until <= now {
            return;
        }
        process.is_by_thread = true;
        let held = process.looks();
        process.engine.send_acknowledgements(now.instant(), GUARD_PERIOD.0 / 1000);
        self.send_together(rank, held);
        self.attend(rank);
        self.ranks[rank as usize].is_by_thread = false;
        self.alert_guard(rank);
    }

    /// The program of `rank` looks at the network.
    pub fn look(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let frames = process.looks();
        let news = std::mem::take(&mut process.news);
        process.is_away = false;
        self.send_together(rank, frames);
        news.into_iter().for_each(|news| self.hears(news));
        if self.kind.acknowledges {
            let now = self.calendar.now().instant();
            self.ranks[rank as usize].engine.handle_timeout(now);
            self.attend(rank);
        }
    }

    /// A receive is posted: what has come may have ended it. Nothing is sent for that before the next call that sends or
    /// looks at the network.
    pub fn has_received(&mut self, rank: u32) {
        if !self.kind.acknowledges {
            return self.attend(rank);
        }
        let process = &mut self.ranks[rank as usize];
        complete_all(process);
        if process.take_woken() {
            self.make_ready(rank);
        }
    }

    /// Frames leave, those of one flow with one system call.
    fn send_together(&mut self, rank: u32, mut frames: Vec<(FlowId, u32)>) {
        let now = self.calendar.now();
        while let Some(&(first, _)) = frames.first() {
            let process = &mut self.ranks[rank as usize];
            // There is no call for a socket that is to say when it takes more.
            let call = if self.network.is_blocked(first) { Time::default() } else { process.costs.transmit };
            let at = process.work(now, call);
            let (together, rest) = frames.into_iter().partition(|(flow, _)| *flow == first);
            frames = rest;
            let together: Vec<(FlowId, u32)> = together;
            together.into_iter().for_each(|(flow, frame)| self.calendar.enter(at, Event::Post { flow, frame }));
            self.calendar.enter(at, Event::Flush(first));
        }
    }

    fn new_frame(&mut self, frame: Frame) -> u32 {
        if let Some(name) = self.free_frames.pop() {
            self.frames[name as usize] = frame;
            return name;
        }
        self.frames.push(frame);
        self.frames.len() as u32 - 1
    }
}

fn encoded_len(header: &Header) -> u64 {
    header.encode(&mut [0; MAX_HEADER_LEN]) as u64
}

/// Nothing is left to hand over: sends to distant peers end once they are copied.
fn end_sends_early(process: &mut Rank, now: Time) {
    while !process.holds_back() && process.engine.buffer_sends(now.instant()) {
        let copied = complete_all(process);
        process.work(now, process.costs.copy(copied));
    }
}

/// The program learns what has ended. Its bytes.
fn complete_all(process: &mut Rank) -> u64 {
    while process.engine.poll_memory().is_some() {}
    let mut bytes = 0;
    while let Some(completion) = process.engine.poll_completion() {
        bytes += completion.len;
        complete(process, &completion);
    }
    bytes
}

fn complete(process: &mut Rank, completion: &Completion) {
    debug_assert!(completion.result.is_ok(), "nothing fails in a model: {completion:?}");
    // One-sided data that arrives belongs to no request.
    if completion.operation != fishplate_engine::Operation::RemoteWrite {
        process.complete(Request(completion.context.0 as u32));
    }
}
