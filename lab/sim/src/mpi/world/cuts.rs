//! Rails that fail and recover. A connection breaks at both ends at once, as by a reset; its data in flight is lost.

use super::{Event, World};
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// How often to check whether the network still has data of the broken connection; only then it is re-established.
const DRAINED: Time = Time::ms(5);

impl World {
    /// The rail at this position of the testbed fails at `from`, and recovers at `until`.
    pub fn cut(&mut self, rail: u32, (from, until): (Time, Time)) {
        self.calendar.enter(from, Event::Cut(rail));
        self.calendar.enter(until, Event::Restored(rail));
    }

    /// Whether an event belongs to a broken connection.
    pub(super) fn is_cut(&self, event: Event) -> bool {
        match event {
            Event::Post(flow, _) | Event::Handle(flow, _) | Event::HeaderRead(flow, _) => {
                self.ends[flow.0 as usize].is_cut
            }
            _ => false,
        }
    }

    pub(super) fn drop_frame(&mut self, frame: u32) {
        self.free_frames.push(frame);
    }

    fn flows_over(&self, rail: usize) -> Vec<FlowId> {
        let is_over = |flow: &usize| {
            let ends = &self.ends[*flow];
            self.topology.rail(ends.from, ends.to, ends.from_subchannel.index) == Some(rail)
        };
        (0..self.ends.len()).filter(is_over).map(|flow| FlowId(flow as u32)).collect()
    }

    /// Connections over a rail break.
    pub(super) fn cut_rail(&mut self, rail: usize) {
        let now = self.now().instant();
        let flows = self.flows_over(rail);
        for flow in &flows {
            let ends = &mut self.ends[flow.0 as usize];
            ends.is_cut = true;
            let (rank, subchannel) = (ends.from, ends.from_subchannel);
            let process = &mut self.ranks[rank as usize];
            process.engine.subchannel_down(now, subchannel, "the rail was cut");
        }
        for flow in flows {
            self.drive(self.ends[flow.0 as usize].from);
        }
    }

    /// Re-establishes the connections over a rail.
    pub(super) fn restore_rail(&mut self, rail: usize) {
        let flows = self.flows_over(rail);
        let is_left = |flow: &FlowId| self.network.is_busy(*flow) || self.ends[flow.0 as usize].unwritten > 0;
        if flows.iter().any(is_left) {
            let again = self.now() + DRAINED;
            return self.calendar.enter(again, Event::Restored(rail as u32));
        }
        self.forget_measurements(&flows);
        for flow in &flows {
            let ends = &mut self.ends[flow.0 as usize];
            ends.renew();
            let (from, to, subchannel) = (ends.from, ends.to, ends.from_subchannel);
            let specs = self.topology.subchannels_between(from, to);
            if let Some((_, spec)) = specs.into_iter().nth(usize::from(subchannel.index)) {
                let now = self.now().instant();
                let up = self.ranks[from as usize].subchannel_up(now, subchannel.vc, spec);
                debug_assert_eq!(up, Some(subchannel), "one that comes again has its name again");
            }
        }
        for flow in flows {
            self.drive(self.ends[flow.0 as usize].from);
        }
    }
}
