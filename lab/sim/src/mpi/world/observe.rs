//! What ranks know of rails: the drivers' measurements of ports, and the observer that looks at the engines' estimates.

use fishplate_engine::PortBytes;
use fishplate_engine::wire::{Body, Header};

use super::{Event, World};
use crate::models::flow::FlowId;
use crate::models::time::Time;
use crate::mpi::knowledge::{Estimate, Knowledge};
use crate::mpi::port_shares::PortShares;

impl World {
    /// From now on, drivers measure what they get of the ports of their rails, as they do where the kernel counts bytes. `per_host`:
    /// ranks that share a port.
    pub fn begin_port_shares(&mut self, per_host: u32) {
        self.ports = Some(PortShares::new(self.ranks.len(), per_host));
    }

    /// From now on, what ranks know is looked at.
    pub fn observe(&mut self, knowledge: Knowledge) {
        self.calendar.enter(self.now() + knowledge.every(), Event::Look);
        self.knowledge = Some(Box::new(knowledge));
    }

    /// What ranks have known.
    pub fn take_knowledge(&mut self) -> Option<Knowledge> {
        self.knowledge.take().map(|knowledge| *knowledge)
    }

    /// A driver measures the ports of rails for which messages of its process wait.
    pub(super) fn measure_ports(&mut self, rank: u32) {
        let Some(ports) = &mut self.ports else { return };
        let (now, process) = (self.calendar.now(), &mut self.ranks[rank as usize]);
        let port = |flow: FlowId| self.network.has_socket(flow).then(|| self.network.path(flow).out.adapter);
        for (_, flow) in process.flows.iter().filter(|(_, flow)| self.network.is_busy(*flow)) {
            port(flow).into_iter().for_each(|port| ports.waits(rank, port));
        }
        let over = |at: u32| process.flows.iter().filter(move |(_, flow)| port(*flow) == Some(at));
        let own = |at: u32| over(at).map(|(_, flow)| self.network.acknowledged_of(flow)).sum();
        let measured = ports.observe(rank, now, |at| PortBytes { all: self.network.sent_by(at), own: own(at) });
        for (at, room) in measured {
            for (subchannel, _) in over(at) {
                process.engine.port_room_measured(subchannel, room);
            }
        }
    }

    /// A frame has arrived whole.
    pub(super) fn bytes_arrived_in(&mut self, flow: FlowId, header: &Header) {
        let Some(knowledge) = &mut self.knowledge else { return };
        let (now, ends, bytes) = (self.calendar.now(), &self.ends[flow.0 as usize], header.body.payload_len().into());
        match self.topology.rail(ends.from, ends.to, ends.from_subchannel.index) {
            Some(_) if matches!(header.body, Body::Padding { .. }) => knowledge.padding_arrived(now, bytes),
            Some(rail) if bytes > 0 => knowledge.arrived(now, (flow, rail), bytes),
            _ => {}
        }
    }

    /// Connections are set up again: what was measured before tells nothing of their age.
    pub(super) fn forget_measurements(&mut self, flows: &[FlowId]) {
        let now = self.calendar.now();
        self.knowledge.iter_mut().for_each(|knowledge| knowledge.forget(now, flows));
    }

    /// Looks at the estimates of all ranks.
    pub(super) fn look(&mut self) {
        let now = self.calendar.now();
        let Some(mut knowledge) = self.knowledge.take() else { return };
        knowledge.begin_look(now, self.ranks.len());
        for (rank, process) in (0..).zip(&self.ranks) {
            for (subchannel, flow) in process.subchannels() {
                let ends = &self.ends[flow.0 as usize];
                let rail = self.topology.rail(ends.from, ends.to, ends.from_subchannel.index);
                let Some(rail) = rail.filter(|_| !ends.is_cut) else { continue };
                let Some(path) = process.engine.path(subchannel) else { continue };
                let measured = Time::of_instant(path.measured_at);
                knowledge.look_at(Estimate { rank, flow, rail, rate: path.rate, measured });
            }
        }
        knowledge.end_look();
        if now < knowledge.until() {
            self.calendar.enter(now + knowledge.every(), Event::Look);
        }
        self.knowledge = Some(knowledge);
    }
}
