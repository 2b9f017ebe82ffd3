//! The driver: frames from the engine to sockets and adapters, timers, and the kernel's measurements.

use fishplate_engine::wire::{Header, MAX_HEADER_LEN};
use fishplate_engine::{
    Completion, Context, Envelope, Extent, Failure, MemoryAction, Operation, Payload, Region, SendRequest,
};

use super::{Event, Frame, World};
use crate::models::flow::FlowId;
use crate::models::time::Time;
use crate::mpi::chain::Part;
use crate::mpi::flow_ends::FlowEnds;
use crate::mpi::log::{Entry, Strand};
use crate::mpi::rank::{Held, Rank, Request, Unanswered};
use crate::mpi::synchronous::Asked;
use crate::mpi::tcp_info::SAMPLING_INTERVAL;

/// How often the progress thread runs, and how long frames may be held back before it sends them
/// (transport/provider: `progress_thread.rs`).
const PROGRESS_THREAD_PERIOD: Time = Time::ms(1);

impl World {
    /// Runs a process's engine after a command or event: sends its frames, takes its completions, sets its timer.
    pub fn drive(&mut self, rank: u32) {
        let now = self.calendar.now();
        self.sample_paths(rank);
        loop {
            self.transmit(rank);
            let has_applied = apply_all(&mut self.ranks[rank as usize]);
            complete_all(&mut self.ranks[rank as usize]);
            if !self.answer(rank) && !has_applied {
                break;
            }
        }
        let process = &mut self.ranks[rank as usize];
        let waits = |(_, flow): (_, FlowId)| self.network.is_blocked(flow);
        if self.kind.acknowledges && process.engine.has_buffer_candidates() && !process.subchannels().any(waits) {
            buffer_sends_when_idle(process, now);
        }
        self.wake_if_complete(rank);
        if self.kind.acknowledges {
            self.set_timer(rank);
        }
    }

    /// Sends frames that a process's engine has ready.
    fn transmit(&mut self, rank: u32) {
        let now = self.calendar.now();
        let mut batch = (Vec::new(), 0);
        loop {
            let process = &mut self.ranks[rank as usize];
            let Some(transmit) = process.engine.poll_transmit(now.instant()) else { break };
            let (body, payload) = (transmit.header.body, u64::from(transmit.header.body.payload_len()));
            let cost = process.costs.send_cost(&body);
            let at = if cost == Time::default() { now } else { self.work(rank, now, cost) };
            let process = &mut self.ranks[rank as usize];
            let bytes = payload + if self.kind.headers { encoded_len(&transmit.header) } else { 0 };
            let flow = process.flow(transmit.subchannel);
            let frame = Frame { header: transmit.header, bytes, header_read: false, arrived_after: None };
            if body.is_counted() || self.kind.acknowledges {
                self.ends[flow.0 as usize].queued += bytes;
                let is_batched = process.costs.is_batched();
                let frame = self.new_frame(frame);
                self.follow(|causes, _| causes.make(rank, frame, at));
                if is_batched {
                    batch.0.push((flow, frame));
                    batch.1 += bytes;
                } else {
                    self.calendar.enter(at, Event::Post(flow, frame));
                    self.flush_at(at, flow);
                }
            } else {
                // The adapters acknowledge; what the engine would add takes no bandwidth.
                let frame = self.new_frame(frame);
                self.follow(|causes, _| causes.make(rank, frame, at));
                let at = at + self.network.path(flow).latency();
                self.calendar.enter(at, Event::Acknowledgement(flow, frame));
            }
        }
        if !batch.0.is_empty() {
            let frames = self.ranks[rank as usize].queue_frames(now, batch.0, batch.1);
            self.send_together(rank, frames);
        }
    }

    /// Answers messages of synchronous sends that a process has received. Whether there were any.
    fn answer(&mut self, rank: u32) -> bool {
        let unanswered = self.ranks[rank as usize].take_unanswered();
        for Unanswered { receive, asked } in &unanswered {
            self.note(rank, Strand::default(), || Entry::Answer {
                receive: *receive,
                to: asked.rank,
                tag: asked.tag(),
            });
            self.connect(rank, asked.rank);
            let process = &mut self.ranks[rank as usize];
            let Some(vc) = process.channel(asked.rank) else { continue };
            let (envelope, payload) = (Envelope::Tagged(asked.tag()), empty());
            let context = Context(0);
            let send = SendRequest { vc, envelope, data: None, payload, inject: false, notify: false, context };
            let posted = process.engine.post_send(send);
            debug_assert!(posted.is_ok());
        }
        !unanswered.is_empty()
    }

    /// Samples the kernel's measurements of each path for the engine, if it is time.
    fn sample_paths(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        if !self.kind.acknowledges || now < process.next_sample {
            return;
        }
        process.next_sample = now + SAMPLING_INTERVAL;
        let Rank { flows, engine, .. } = process;
        for (subchannel, flow) in flows.iter() {
            if let Some(path) = self.kernels.sample(now, flow) {
                engine.path_measured(now.instant(), subchannel, path);
            }
        }
        self.measure_ports(rank);
    }

    /// A frame is handed to its adapter; a pending acknowledgement of the kernel is piggybacked.
    pub(super) fn frame_posted(&mut self, flow: FlowId, frame: u32) {
        let now = self.calendar.now();
        self.kernels.segment_sent(now, flow);
        self.follow(|causes, now| causes.post(flow, frame, now));
    }

    /// A driver writes a flow's queue to the socket; once the kernel has everything, the subchannel is writable.
    pub(super) fn flush(&mut self, flow: FlowId) {
        if self.network.is_blocked(flow) || self.write(flow) {
            return;
        }
        let has_all = self.network.flush(&mut self.calendar, flow);
        self.process_notices();
        let is_cut = self.ends[flow.0 as usize].is_cut;
        if let Some(budget) = self.topology.budget().filter(|_| has_all && !is_cut) {
            let FlowEnds { from, from_subchannel, .. } = self.ends[flow.0 as usize];
            self.follow(|causes, now| causes.taken(from, flow, Part::Software, now));
            self.ranks[from as usize].engine.writable(from_subchannel, budget);
            self.drive(from);
        }
    }

    /// A socket is writable again, and the process has polled it.
    pub(super) fn writable(&mut self, flow: FlowId) {
        let rank = self.ends[flow.0 as usize].from;
        self.follow(|causes, now| causes.hear_room(rank, flow, now));
        let at = self.work(rank, self.calendar.now(), self.ranks[rank as usize].costs.transmit);
        self.follow(|causes, _| causes.write(rank, flow, at));
        self.flush_at(at, flow);
    }

    /// A driver writes a flow's queue to the socket at `at`, if there is a socket.
    fn flush_at(&mut self, at: Time, flow: FlowId) {
        if self.network.has_socket(flow) {
            self.calendar.enter(at, Event::Flush(flow));
        }
    }

    /// Bytes have left an adapter that has no socket in front, so its queue has room for as many.
    pub(super) fn frame_left(&mut self, flow: FlowId, bytes: u64) {
        let Some(budget) = self.topology.budget().filter(|_| !self.network.has_socket(flow)) else { return };
        let ends = &mut self.ends[flow.0 as usize];
        debug_assert!(ends.queued >= bytes, "only what was handed to a flow leaves it");
        ends.queued = ends.queued.saturating_sub(bytes);
        let (from, from_subchannel, free) = (ends.from, ends.from_subchannel, budget.saturating_sub(ends.queued));
        self.ranks[from as usize].engine.writable(from_subchannel, free);
        self.follow(|causes, now| causes.taken(from, flow, Part::Bandwidth, now));
        self.drive(from);
    }

    /// Schedules the engine's next timeout, unless an earlier one is scheduled.
    fn set_timer(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let Some(at) = process.engine.poll_timeout().map(Time::of_instant) else { return };
        if process.timer.is_none_or(|timer| at < timer) {
            process.timer = Some(at);
            self.calendar.enter(at, Event::Timeout(rank));
        }
    }

    pub(super) fn handle_timeout_event(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        // Handled when the program polls, or by the progress thread before that.
        if process.is_computing {
            process.timer = None;
            return self.schedule_progress_thread(rank);
        }
        // The core is busy until then.
        if process.core_free > now {
            let free = process.core_free;
            return self.calendar.enter(free, Event::Timeout(rank));
        }
        process.timer = None;
        process.engine.handle_timeout(now.instant());
        self.follow(|causes, now| causes.timed_out(rank, now));
        self.drive(rank);
    }

    /// The program of `rank` computes for this time, without calling MPI.
    pub fn begin_compute(&mut self, rank: u32, time: Time) {
        self.note(rank, Strand::default(), || Entry::Compute(time));
        self.follow(|causes, now| causes.begin_compute(rank, now));
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        process.last_polled = process.core_free.later(now);
        process.computes_until = process.last_polled + time;
        process.is_computing = self.kind.acknowledges;
        self.schedule_progress_thread(rank);
    }

    /// Schedules the progress thread of a process that computes, if there is something to send.
    fn schedule_progress_thread(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        let has_work = process.has_held_frames() || process.engine.has_pending_acks();
        if self.kind.acknowledges && has_work && process.computes_until > now && !process.is_thread_scheduled {
            process.is_thread_scheduled = true;
            self.calendar.enter(now + PROGRESS_THREAD_PERIOD, Event::ProgressThread(rank));
        }
    }

    /// The progress thread sends frames that were held back and acknowledgements that are due.
    pub(super) fn run_progress_thread(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        process.is_thread_scheduled = false;
        if process.computes_until <= now {
            return;
        }
        process.runs_in_thread = true;
        self.follow(|causes, now| causes.run_thread(rank, now));
        let process = &mut self.ranks[rank as usize];
        let held = process.end_burst();
        process.engine.send_acknowledgements(now.instant(), PROGRESS_THREAD_PERIOD.0 / 1000);
        self.send_together(rank, held);
        self.drive(rank);
        self.ranks[rank as usize].runs_in_thread = false;
        self.schedule_progress_thread(rank);
    }

    /// The program of `rank` makes progress: it polls the network.
    pub fn progress(&mut self, rank: u32) {
        self.follow(|causes, now| causes.call(rank, now));
        let process = &mut self.ranks[rank as usize];
        let frames = process.end_burst();
        let events = std::mem::take(&mut process.pending_events);
        process.is_computing = false;
        self.send_together(rank, frames);
        self.read_bytes(rank);
        events.into_iter().for_each(|event| self.handle_socket_event(event));
        if self.kind.acknowledges {
            let now = self.calendar.now().instant();
            self.ranks[rank as usize].engine.handle_timeout(now);
            self.drive(rank);
        }
    }

    /// A receive is posted, and may be complete at once if its message is here. Nothing is sent for that before the next
    /// call that sends or makes progress.
    pub fn receive_posted(&mut self, rank: u32) {
        if !self.kind.acknowledges {
            return self.drive(rank);
        }
        complete_all(&mut self.ranks[rank as usize]);
        if self.answer(rank) {
            return self.drive(rank);
        }
        self.wake_if_complete(rank);
    }

    /// Sends frames, those of one flow with one system call.
    fn send_together(&mut self, rank: u32, Held { mut frames, since }: Held) {
        let now = self.calendar.now();
        while let Some(&(first, _)) = frames.first() {
            let transmit = self.ranks[rank as usize].costs.transmit;
            // A socket that is not writable costs no call.
            let call = if self.network.is_blocked(first) { Time::default() } else { transmit };
            let at = self.work(rank, now, call);
            let (together, rest) = frames.into_iter().partition(|(flow, _)| *flow == first);
            frames = rest;
            if since < now {
                let subchannel = self.ends[first.0 as usize].from_subchannel;
                self.ranks[rank as usize].engine.held_frames_sent(subchannel, since.instant(), now.instant());
            }
            let together: Vec<(FlowId, u32)> = together;
            for (flow, frame) in together {
                self.follow(|causes, _| causes.send(rank, frame, at));
                self.calendar.enter(at, Event::Post(flow, frame));
            }
            self.flush_at(at, first);
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

/// No memory.
fn empty() -> Payload {
    Payload::One(Extent { region: Region(0), offset: 0, len: 0 })
}

fn encoded_len(header: &Header) -> u64 {
    header.encode(&mut [0; MAX_HEADER_LEN]) as u64
}

/// If no data can be sent, buffers sends to distant peers, so that they complete.
fn buffer_sends_when_idle(process: &mut Rank, now: Time) {
    while !process.has_held_frames() && process.engine.buffer_sends(now.instant(), |_| false) {
        let copied = complete_all(process);
        process.work(now, process.costs.copy(copied));
    }
}

/// Marks received atomic operations as applied, as the model has no memory. Returns whether there were any, whose
/// answers are to be sent.
fn apply_all(process: &mut Rank) -> bool {
    let mut has_applied = false;
    while let Some(action) = process.engine.poll_memory() {
        if let MemoryAction::Apply { id, .. } = action {
            process.engine.applied(id, Ok(()));
            has_applied = true;
        }
    }
    has_applied
}

/// Completes the program's requests. Returns the sum of their bytes.
fn complete_all(process: &mut Rank) -> u64 {
    apply_all(process);
    let mut bytes = 0;
    while let Some(completion) = process.engine.poll_completion() {
        bytes += completion.len;
        complete(process, &completion);
    }
    bytes
}

fn complete(process: &mut Rank, completion: &Completion) {
    // Programs may receive less than was sent; no other error occurs in a model.
    debug_assert!(matches!(completion.result, Ok(()) | Err(Failure::Truncated { .. })), "{completion:?}");
    // One-sided data that arrives belongs to no request.
    if completion.operation == Operation::RemoteWrite {
        return;
    }
    let request = Request(completion.context.0 as u32);
    if let (Operation::Recv, Some(data)) = (completion.operation, completion.data) {
        process.is_asked(Unanswered { receive: request, asked: Asked::of(data) });
    }
    process.complete(request);
}
