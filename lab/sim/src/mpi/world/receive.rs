//! The receive path of a process: frames that arrive.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{SubchannelId, TimeRange};

use super::{COUNTED, Event, Frame, World};
use crate::models::flow::FlowId;
use crate::models::network::Notice;
use crate::models::time::Time;
use crate::mpi::flow_ends::FlowEnds;
use crate::mpi::rank::SocketEvent;

impl World {
    pub(super) fn process_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.notices);
        self.network.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Left(flow, bytes, sent) => {
                    let now = self.calendar.now();
                    self.count_rail_bytes(flow, bytes);
                    self.kernels.arrived(now, flow, (sent, self.network.queue_back(now, flow)), bytes);
                    self.frame_left(flow, bytes);
                }
                Notice::Begun(flow, token) => {
                    let (to, frame) = (self.ends[flow.0 as usize].to, token >> 1);
                    self.follow_frame(flow, frame, true);
                    self.deliver(to, SocketEvent::HeaderArrived(flow, frame))
                }
                Notice::Arrived(flow, bytes) => self.bytes_arrived(flow, bytes.into()),
                Notice::Writable(flow) => {
                    self.follow(|causes, now| causes.has_room(flow, now));
                    self.deliver(self.ends[flow.0 as usize].from, SocketEvent::Writable(flow))
                }
                Notice::Delivered(flow, token) => {
                    let (to, frame) = (self.ends[flow.0 as usize].to, token >> 1);
                    self.follow_frame(flow, frame, false);
                    self.deliver(to, SocketEvent::Delivered(flow, frame))
                }
                Notice::Acknowledged(flow, token) => self.acknowledged(flow, token & COUNTED != 0),
            }
        }
        self.notices = notices;
    }

    /// A frame, or its header, has arrived.
    fn follow_frame(&mut self, flow: FlowId, frame: u32, is_header: bool) {
        let Some(causes) = &mut self.causes else { return };
        let (to, latency) = (self.ends[flow.0 as usize].to, self.network.path(flow).latency());
        causes.arrived((flow, frame, is_header), to, (latency, self.calendar.now()));
    }

    /// Counts a frame that left a rail. Frames within a host use no rail.
    fn count_rail_bytes(&mut self, flow: FlowId, bytes: u64) {
        let FlowEnds { from, to, from_subchannel, .. } = self.ends[flow.0 as usize];
        if let Some(counted) = &mut self.rail_bytes
            && let Some(rail) = self.topology.rail(from, to, from_subchannel.index)
        {
            counted.add(rail, self.calendar.now(), bytes);
        }
    }

    /// Delivers a socket event to a process, at once if it is in MPI, else when it polls next.
    fn deliver(&mut self, rank: u32, event: SocketEvent) {
        let process = &mut self.ranks[rank as usize];
        if process.is_computing {
            if let SocketEvent::Delivered(_, frame) | SocketEvent::HeaderArrived(_, frame) = event {
                self.frames[frame as usize].arrived_after.get_or_insert(process.last_polled);
            }
            return process.pending_events.push(event);
        }
        self.handle_socket_event(event);
    }

    pub(super) fn handle_socket_event(&mut self, event: SocketEvent) {
        match event {
            SocketEvent::Delivered(flow, frame) if self.ends[flow.0 as usize].is_cut => self.drop_frame(frame),
            SocketEvent::HeaderArrived(flow, _) if self.ends[flow.0 as usize].is_cut => {}
            SocketEvent::Delivered(flow, frame) => self.frame_arrived(flow, frame),
            SocketEvent::HeaderArrived(flow, frame) => self.header_arrived(flow, frame),
            SocketEvent::Writable(flow) => self.writable(flow),
        }
    }

    /// A frame has arrived: the process reads it once its core is free.
    fn frame_arrived(&mut self, flow: FlowId, frame: u32) {
        let rank = self.ends[flow.0 as usize].to;
        self.follow(|causes, now| causes.hear(rank, frame, false, now));
        let costs = self.ranks[rank as usize].costs;
        let at = self.read_cost(flow, costs.receive_cost(&self.frames[frame as usize].header.body));
        self.follow(|causes, _| causes.read(rank, frame, false, at));
        self.calendar.enter(at, Event::Handle(flow, frame));
    }

    /// A header has arrived: the process reads it before the payload is complete.
    fn header_arrived(&mut self, flow: FlowId, frame: u32) {
        let rank = self.ends[flow.0 as usize].to;
        self.follow(|causes, now| causes.hear(rank, frame, true, now));
        let at = self.read_cost(flow, Time::default());
        self.follow(|causes, _| causes.read(rank, frame, true, at));
        self.calendar.enter(at, Event::HeaderRead(flow, frame));
    }

    /// Charges the core for a read of a flow and `cost` of handling. Returns when that is done.
    fn read_cost(&mut self, flow: FlowId, cost: Time) -> Time {
        let now = self.calendar.now();
        let ends = &mut self.ends[flow.0 as usize];
        let process = &mut self.ranks[ends.to as usize];
        let calls = ends.fetch(now, process.core_free, self.kind.acknowledges);
        let fetch = if calls { process.costs.fetch } else { Time::default() };
        let cost = cost + fetch;
        // Frames are handled in order of arrival, so even one without cost waits for those before it.
        let is_free = cost == Time::default() && !self.kind.acknowledges;
        let to = ends.to;
        if is_free { now } else { self.work(to, now, cost) }
    }

    pub(super) fn handle_early_header(&mut self, flow: FlowId, frame: u32) {
        let FlowEnds { to, to_subchannel, .. } = self.ends[flow.0 as usize];
        self.follow(|causes, now| causes.handle(to, frame, true, now));
        let frame = &mut self.frames[frame as usize];
        frame.header_read = true;
        let Frame { header, arrived_after, .. } = *frame;
        self.handle_header(to, to_subchannel, &header, arrived_after);
        self.frame_handled(flow);
    }

    pub(super) fn handle_frame(&mut self, flow: FlowId, frame: u32) {
        let Frame { mut header, header_read, arrived_after, .. } = self.frames[frame as usize];
        self.free_frames.push(frame);
        let FlowEnds { to, to_subchannel, .. } = self.ends[flow.0 as usize];
        self.bytes_arrived_in(flow, &header);
        if self.kind.acknowledges {
            if !header_read {
                self.handle_header(to, to_subchannel, &header, arrived_after);
            }
            self.complete_payload(to, to_subchannel, &header);
            return self.frame_handled(flow);
        }
        // The other direction's flow is its neighbour: they are made in pairs.
        let reverse = &mut self.ends[(flow.0 ^ 1) as usize];
        reverse.acknowledgement_received(header.ack, header.credit);
        header.ack = reverse.acknowledged;
        self.receive_frame(to, to_subchannel, &header);
    }

    /// A driver sends once it has handled all frames that it has read with one call.
    fn frame_handled(&mut self, flow: FlowId) {
        let ends = &mut self.ends[flow.0 as usize];
        if ends.handled_is_last() {
            let rank = ends.to;
            self.drive(rank);
        }
    }

    /// The adapter or kernel of the receiver has acknowledged a frame.
    fn acknowledged(&mut self, flow: FlowId, counted: bool) {
        if !counted || self.ends[flow.0 as usize].is_cut {
            return;
        }
        let now = self.calendar.now().instant();
        let ends = &mut self.ends[flow.0 as usize];
        ends.acknowledged = ends.acknowledged.wrapping_add(1);
        let FlowEnds { from, from_subchannel, acknowledged: ack, credit, .. } = *ends;
        if self.kind.acknowledges {
            // The driver reads it from the kernel.
            let came = TimeRange { earliest: now, latest: now };
            self.ranks[from as usize].engine.kernel_acknowledged(came, from_subchannel, ack);
            return;
        }
        self.follow(|causes, now| causes.acknowledged(from, flow, now));
        let sent_at_us = now.wrapping_us();
        let header = Header { ack, ack_delay_us: 0, sent_at_us, credit, repetition: 0, body: Body::Ack };
        self.receive_frame(from, from_subchannel, &header);
    }

    fn receive_frame(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        self.handle_header(rank, subchannel, header, None);
        self.complete_payload(rank, subchannel, header);
        self.drive(rank);
    }

    /// A process has read a header, which was not there at `arrived_after`, or has come just now.
    fn handle_header(&mut self, rank: u32, subchannel: SubchannelId, header: &Header, arrived_after: Option<Time>) {
        let now = self.calendar.now().instant();
        let process = &mut self.ranks[rank as usize];
        if self.kind.acknowledges {
            process.engine.arrived_after(subchannel, arrived_after.map_or(now, Time::instant));
            process.engine.made_progress(now, subchannel);
        }
        let taken = process.engine.handle_header(now, subchannel, header);
        debug_assert!(taken.is_ok(), "engines of one build understand each other: {taken:?}");
    }

    /// The payload of a frame, if it has one, has been placed.
    fn complete_payload(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        if header.body.payload_len() > 0 && header.body.is_counted() {
            let now = self.calendar.now().instant();
            self.ranks[rank as usize].engine.payload_placed(now, subchannel);
        }
    }
}
