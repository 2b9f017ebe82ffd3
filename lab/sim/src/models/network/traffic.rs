//! Active traffic of flows: most flows are idle most of the time, so they share a table.

use std::num::NonZeroU32;

use crate::models::flow::{Flow, Traffic, TrafficId};

/// Active traffic of all flows.
#[derive(Debug, Default)]
pub(super) struct TrafficTable {
    all: Vec<Traffic>,
    free: Vec<TrafficId>,
}

impl TrafficTable {
    /// Active traffic of a flow, if any.
    pub fn of(&self, flow: &Flow) -> Option<&Traffic> {
        flow.traffic.map(|name| &self.all[place(name)])
    }

    /// Mutable active traffic of a flow, if any.
    pub fn existing(&mut self, flow: &Flow) -> Option<&mut Traffic> {
        flow.traffic.map(|name| &mut self.all[place(name)])
    }

    /// Active traffic of a flow; adds an empty entry if there is none.
    pub fn begin(&mut self, flow: &mut Flow) -> &mut Traffic {
        let name = match flow.traffic {
            Some(name) => name,
            None => self.next_free(),
        };
        let traffic = &mut self.all[place(name)];
        if flow.traffic.is_none() {
            flow.traffic = Some(name);
            traffic.socket = flow.path.terms.socket;
            traffic.forget_frames();
        }
        traffic
    }

    /// Frees the entry of a flow that became idle.
    pub fn end_if_over(&mut self, flow: &mut Flow) {
        if !flow.in_round
            && let Some(name) = flow.traffic
            && self.all[place(name)].is_over()
        {
            flow.traffic = None;
            self.free.push(name);
        }
    }

    fn next_free(&mut self) -> TrafficId {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Traffic::default());
            TrafficId(NonZeroU32::MIN.saturating_add(self.all.len() as u32 - 1))
        })
    }
}

/// Names count from 1.
fn place(name: TrafficId) -> usize {
    name.0.get() as usize - 1
}
