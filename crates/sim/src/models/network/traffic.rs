//! What flows have under way: most have nothing most of the time, so they share a table.

use std::num::NonZeroU32;

use crate::models::flow::{Flow, Traffic, TrafficId};

/// What all flows have under way.
#[derive(Debug, Default)]
pub(super) struct TrafficTable {
    all: Vec<Traffic>,
    free: Vec<TrafficId>,
}

impl TrafficTable {
    /// What a flow has under way, if anything.
    pub fn of(&self, flow: &Flow) -> Option<&Traffic> {
        flow.traffic.map(|name| &self.all[place(name)])
    }

    /// The same, to change.
    pub fn existing(&mut self, flow: &Flow) -> Option<&mut Traffic> {
        flow.traffic.map(|name| &mut self.all[place(name)])
    }

    /// What a flow has under way, which is nothing if it had nothing.
    pub fn begin(&mut self, flow: &mut Flow) -> &mut Traffic {
        let name = match flow.traffic {
            Some(name) => name,
            None => self.next_free(),
        };
        let traffic = &mut self.all[place(name)];
        if flow.traffic.is_none() {
            flow.traffic = Some(name);
            traffic.socket = flow.path.terms.socket;
        }
        traffic
    }

    /// If nothing is under way any more, its place is free for another flow.
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
