//! What ranks know of rails, observed at equal intervals: how old the rates are that they use, and what they take the rate
//! of one rail for. Beside it, bytes of messages by rail and interval.

use crate::models::flow::FlowId;
use crate::models::time::Time;

/// A rank uses a connection if bytes of its messages have arrived over it within this time.
const USED_WITHIN: Time = Time::ms(1000);

/// An engine's estimate of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Whose.
    pub rank: u32,
    /// Its connection.
    pub flow: FlowId,
    /// The rail of that.
    pub rail: usize,
    /// Bytes per second.
    pub rate: f64,
    /// When it was measured last; the origin of time: never.
    pub measured: Time,
}

/// What all ranks know at one time.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The time.
    pub at: Time,
    /// The greatest time since the rate of a used connection was measured.
    pub connection_age: Time,
    /// The greatest time since a rank has measured a rail that it uses, to any peer.
    pub rank_age: Time,
    /// Rate of the watched rail by rank, in bytes per second: the mean of its connections. 0: it has none.
    pub rates: Vec<f32>,
}

/// The observer.
pub struct Knowledge {
    every: Time,
    until: Time,
    watched: usize,
    /// By flow: when bytes of messages arrived last, and when it was set up.
    flows: Vec<(Option<Time>, Time)>,
    arrived: Vec<Vec<u64>>,
    padding: Vec<u64>,
    looks: Vec<Look>,
    /// Of the present look, by rail and rank: when it was measured last, if it is used.
    measured: Vec<Vec<Option<Time>>>,
    /// Connections of each rank over the watched rail.
    counts: Vec<u32>,
}

impl Knowledge {
    /// Looks at intervals `every` until `until`, at the rate of the rail `watched` in particular.
    pub fn new(every: Time, until: Time, watched: usize) -> Knowledge {
        let (flows, arrived, padding, looks, measured, counts) = <_>::default();
        Knowledge { every, until, watched, flows, arrived, padding, looks, measured, counts }
    }

    /// Interval between looks.
    pub fn every(&self) -> Time {
        self.every
    }

    /// When to look last.
    pub fn until(&self) -> Time {
        self.until
    }

    /// All looks.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Bytes of messages that arrived over all rails from one time to another, in whole intervals.
    pub fn bytes(&self, (from, to): (Time, Time)) -> u64 {
        self.arrived.iter().map(|rail| self.sum(rail, (from, to))).sum()
    }

    /// Bytes of padding that arrived over all rails in such a time.
    pub fn padding(&self, window: (Time, Time)) -> u64 {
        self.sum(&self.padding, window)
    }

    fn sum(&self, by_interval: &[u64], (from, to): (Time, Time)) -> u64 {
        let [from, to] = [from, to].map(|time| ((time.0 / self.every.0) as usize).min(by_interval.len()));
        by_interval[from..to].iter().sum()
    }

    /// Padding has arrived.
    pub fn padding_arrived(&mut self, now: Time, bytes: u64) {
        *slot(&mut self.padding, (now.0 / self.every.0) as usize) += bytes;
    }

    /// Bytes of a message have arrived.
    pub fn arrived(&mut self, now: Time, (flow, rail): (FlowId, usize), bytes: u64) {
        self.flow(flow).0 = Some(now);
        *slot(slot(&mut self.arrived, rail), (now.0 / self.every.0) as usize) += bytes;
    }

    /// Connections are set up.
    pub fn forget(&mut self, now: Time, flows: &[FlowId]) {
        flows.iter().for_each(|flow| *self.flow(*flow) = (None, now));
    }

    /// A look at all ranks begins.
    pub fn begin_look(&mut self, at: Time, ranks: usize) {
        self.looks.push(Look { at, rates: vec![0.0; ranks], ..Look::default() });
        self.counts = vec![0; ranks];
        self.measured.iter_mut().for_each(|ranks| ranks.fill(None));
    }

    /// An estimate of one of them.
    pub fn look_at(&mut self, Estimate { rank, flow, rail, rate, measured }: Estimate) {
        let (used, set_up) = *self.flow(flow);
        let Some(look) = self.looks.last_mut() else { return };
        if rail == self.watched {
            look.rates[rank as usize] += rate as f32;
            self.counts[rank as usize] += 1;
        }
        if used.is_some_and(|used| look.at - used < USED_WITHIN) {
            let measured = measured.later(set_up);
            look.connection_age = look.connection_age.later(look.at - measured);
            let newest = slot(slot(&mut self.measured, rail), rank as usize);
            *newest = Some(newest.map_or(measured, |newest| newest.later(measured)));
        }
    }

    /// All ranks were looked at.
    pub fn end_look(&mut self) {
        let Some(look) = self.looks.last_mut() else { return };
        let measured = self.measured.iter().flatten().flatten();
        look.rank_age = measured.map(|measured| look.at - *measured).max().unwrap_or_default();
        look.rates.iter_mut().zip(&self.counts).for_each(|(rate, count)| *rate /= (*count).max(1) as f32);
    }

    fn flow(&mut self, flow: FlowId) -> &mut (Option<Time>, Time) {
        slot(&mut self.flows, flow.0 as usize)
    }
}

/// The value at this place, which the vector grows to.
fn slot<T: Clone + Default>(all: &mut Vec<T>, at: usize) -> &mut T {
    if all.len() <= at {
        all.resize(at + 1, T::default());
    }
    &mut all[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_and_was_measured_long_ago_is_old() {
        let mut knowledge = Knowledge::new(Time::ms(10), Time::ms(5000), 1);
        let of = |flow, rail, measured| Estimate { rank: 0, flow: FlowId(flow), rail, rate: 7.0, measured };
        knowledge.arrived(Time::ms(2995), (FlowId(4), 1), 100);
        knowledge.arrived(Time::ms(2995), (FlowId(6), 1), 100);
        knowledge.begin_look(Time::ms(3000), 1);
        let estimates = [of(2, 0, Time::ms(0)), of(4, 1, Time::ms(1500)), of(6, 1, Time::ms(2900))];
        estimates.into_iter().for_each(|each| knowledge.look_at(each));
        knowledge.end_look();
        let look = &knowledge.looks()[0];
        assert_eq!((look.connection_age, look.rank_age), (Time::ms(1500), Time::ms(100)), "flow 2 carries nothing");
        assert_eq!((look.rates[0], knowledge.bytes((Time::ms(2990), Time::ms(3000)))), (7.0, 200));
    }

    #[test]
    fn a_connection_that_was_set_up_again_is_as_old_as_that() {
        let mut knowledge = Knowledge::new(Time::ms(10), Time::ms(5000), 0);
        knowledge.forget(Time::ms(2000), &[FlowId(0)]);
        knowledge.arrived(Time::ms(2001), (FlowId(0), 0), 1);
        knowledge.begin_look(Time::ms(2300), 1);
        knowledge.look_at(Estimate { rank: 0, flow: FlowId(0), rail: 0, rate: 1.0, measured: Time::default() });
        knowledge.end_look();
        assert_eq!(knowledge.looks()[0].rank_age, Time::ms(300));
    }
}
