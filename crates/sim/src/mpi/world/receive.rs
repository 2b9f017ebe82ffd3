//! The receive path of a process: frames that arrive.

use fishplate_engine::SubchannelId;
use fishplate_engine::wire::{Body, Header};

use super::{COUNTED, Event, Frame, World};
use crate::models::flow::FlowId;
use crate::models::network::Notice;
use crate::models::time::Time;
use crate::mpi::flow_ends::FlowEnds;
use crate::mpi::rank::News;

impl World {
    pub(super) fn hear(&mut self) {
        let mut notices = std::mem::take(&mut self.notices);
        self.network.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Left(flow, _, bytes, sent) => {
                    let now = self.calendar.now();
                    self.kernels.came(now, flow, (sent, self.network.queue_back(now, flow)), bytes);
                    self.left(flow, bytes);
                }
                Notice::Begun(flow, token) => {
                    self.tell(self.ends[flow.0 as usize].to, News::Begun(flow, (token >> 1) as u32))
                }
                Notice::Writable(flow) => self.tell(self.ends[flow.0 as usize].from, News::Writable(flow)),
                Notice::Delivered(flow, token) => {
                    self.tell(self.ends[flow.0 as usize].to, News::Delivered(flow, (token >> 1) as u32))
                }
                Notice::Acknowledged(flow, token) => self.acknowledged(flow, token & COUNTED != 0),
            }
        }
        self.notices = notices;
    }

    /// A process hears what its sockets have, once it looks at the network.
    fn tell(&mut self, rank: u32, news: News) {
        let process = &mut self.ranks[rank as usize];
        if process.is_away {
            return process.news.push(news);
        }
        self.hears(news);
    }

    pub(super) fn hears(&mut self, news: News) {
        match news {
            News::Delivered(flow, frame) => self.delivered(flow, frame),
            News::Begun(flow, frame) => self.begun(flow, frame),
            News::Writable(flow) => self.writable(flow),
        }
    }

    /// The process takes the frame in once its core is free.
    fn delivered(&mut self, flow: FlowId, frame: u32) {
        let cost = self.ranks[self.ends[flow.0 as usize].to as usize].costs;
        let at = self.take(flow, cost.inward(&self.frames[frame as usize].header.body));
        self.calendar.enter(at, Event::Handle { flow, frame });
    }

    /// It reads the header of one whose payload is still to come.
    fn begun(&mut self, flow: FlowId, frame: u32) {
        let at = self.take(flow, Time::default());
        self.calendar.enter(at, Event::Begin { flow, frame });
    }

    /// When a process has read from a flow, and done what takes so long.
    fn take(&mut self, flow: FlowId, cost: Time) -> Time {
        let now = self.calendar.now();
        let ends = &mut self.ends[flow.0 as usize];
        let process = &mut self.ranks[ends.to as usize];
        let calls = ends.fetch(now, process.core_free);
        let fetch = if calls { process.costs.fetch } else { Time::default() };
        let cost = cost + fetch;
        // Frames are handled in the order in which they came: what costs nothing waits for what came before.
        let is_free = cost == Time::default() && !self.kind.acknowledges;
        if is_free { now } else { process.work(now, cost) }
    }

    pub(super) fn begin_frame(&mut self, flow: FlowId, frame: u32) {
        let FlowEnds { to, to_subchannel, .. } = self.ends[flow.0 as usize];
        let frame = &mut self.frames[frame as usize];
        frame.has_begun = true;
        let header = frame.header;
        self.take_header(to, to_subchannel, &header);
        self.taken(flow);
    }

    pub(super) fn handle_frame(&mut self, flow: FlowId, frame: u32) {
        let Frame { mut header, has_begun, .. } = self.frames[frame as usize];
        self.free_frames.push(frame);
        let FlowEnds { to, to_subchannel, .. } = self.ends[flow.0 as usize];
        if self.kind.acknowledges {
            if !has_begun {
                self.take_header(to, to_subchannel, &header);
            }
            self.place(to, to_subchannel, &header);
            return self.taken(flow);
        }
        // The other direction's flow is its neighbour: they are made in pairs.
        let heard = &mut self.ends[(flow.0 ^ 1) as usize];
        heard.told(header.ack, header.credit);
        header.ack = heard.acknowledged;
        self.take_in(to, to_subchannel, &header);
    }

    /// A driver sends what there is to send once it has handled all that it has read with one call.
    fn taken(&mut self, flow: FlowId) {
        let ends = &mut self.ends[flow.0 as usize];
        if ends.handles() {
            let rank = ends.to;
            self.attend(rank);
        }
    }

    /// The adapter or kernel of the receiver has acknowledged a frame.
    fn acknowledged(&mut self, flow: FlowId, counted: bool) {
        if !counted {
            return;
        }
        let ends = &mut self.ends[flow.0 as usize];
        if self.kind.acknowledges {
            // The driver hears of it when it asks the kernel.
            ends.reached = ends.reached.wrapping_add(1);
            let (from, subchannel, frames) = (ends.from, ends.from_subchannel, ends.reached);
            let now = self.calendar.now().instant();
            self.ranks[from as usize].engine.kernel_acknowledged((now, now), subchannel, frames);
            return;
        }
        ends.acknowledged = ends.acknowledged.wrapping_add(1);
        let FlowEnds { from, from_subchannel, acknowledged: ack, credit, .. } = *ends;
        let said_at_us = self.calendar.now().instant().wrapping_us();
        let header = Header { ack, ack_delay_us: 0, said_at_us, credit, repetition: 0, body: Body::Ack };
        self.take_in(from, from_subchannel, &header);
    }

    fn take_in(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        self.take_header(rank, subchannel, header);
        self.place(rank, subchannel, header);
        self.attend(rank);
    }

    fn take_header(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        let now = self.calendar.now().instant();
        let process = &mut self.ranks[rank as usize];
        if self.kind.acknowledges {
            process.engine.arrived_after(subchannel, now);
            process.engine.made_progress(now, subchannel);
        }
        let taken = process.engine.handle_header(now, subchannel, header);
        debug_assert!(taken.is_ok(), "engines of one build understand each other: {taken:?}");
    }

    /// The payload of a frame, if it has one, is where it belongs.
    fn place(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        if header.body.payload_len() > 0 && header.body.is_counted() {
            let now = self.calendar.now().instant();
            self.ranks[rank as usize].engine.payload_placed(now, subchannel);
        }
    }
}
