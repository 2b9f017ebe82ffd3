//! The rates of rails' ports, of all processes of a host, as a driver measures them (transport/rails:
//! `streams/port_rate.rs`, `endpoint/tcp/tuning/sampling.rs`).

use crate::models::time::Time;

/// Bounds of an observation.
const LEAST: Time = Time::ms(10);
const MOST: Time = Time::ms(100);
/// Weight of a measurement below the estimate.
const FALLS_BY: f64 = 0.125;

/// What one process knows of one port.
#[derive(Clone, Copy, Debug)]
struct PortRate {
    /// The adapter that stands for the port.
    port: u32,
    /// Messages wait for it.
    is_busy: bool,
    /// Start of the observation, and bytes sent until then.
    since: Option<(Time, u64)>,
    /// Bytes per second.
    rate: f64,
}

/// What all processes know of ports, by rank.
pub struct PortRates(Vec<Vec<PortRate>>);

impl PortRates {
    /// Of processes that know nothing.
    pub fn new(ranks: usize) -> PortRates {
        PortRates(vec![Vec::new(); ranks])
    }

    /// Messages of a rank wait for a port.
    pub fn waits(&mut self, rank: u32, port: u32) {
        let known = &mut self.0[rank as usize];
        match known.iter_mut().find(|known| known.port == port) {
            Some(known) => known.is_busy = true,
            None => known.push(PortRate { port, is_busy: true, since: None, rate: 0.0 }),
        }
    }

    /// The ports of busy rails whose observation ends now, with their rates in bytes per second.
    pub fn observe(&mut self, rank: u32, now: Time, sent: impl Fn(u32) -> u64) -> Vec<(u32, f64)> {
        let busy =
            self.0[rank as usize].iter_mut().filter_map(|known| std::mem::take(&mut known.is_busy).then_some(known));
        busy.filter_map(|known| Some((known.port, known.observe(now, sent(known.port))?))).collect()
    }
}

impl PortRate {
    fn observe(&mut self, now: Time, sent: u64) -> Option<f64> {
        let took = self.since.map(|(since, _)| now - since);
        if took.is_some_and(|took| took < LEAST) || self.since.is_some_and(|(_, before)| before == sent) {
            return None;
        }
        let (_, before) = self.since.replace((now, sent))?;
        let took = took.filter(|took| *took <= MOST)?;
        let rate = (sent - before) as f64 * 1e9 / took.as_ns();
        self.rate = if rate > self.rate { rate } else { self.rate + (rate - self.rate) * FALLS_BY };
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_knows_what_all_have_sent_while_its_messages_wait() {
        let mut ports = PortRates::new(2);
        let mut at = |ms, sent: u64| {
            ports.waits(1, 7);
            ports.observe(1, Time::ms(ms), |_| sent)
        };
        assert_eq!((at(0, 5), at(5, 9)), (vec![], vec![]), "nothing was seen before, and too soon");
        assert_eq!(at(20, 2_500_005), [(7, 125e6)]);
        assert_eq!(at(40, 3_750_005), [(7, 62.5e6 / 8.0 + 125e6 * 7.0 / 8.0)]);
        assert_eq!(at(200, 1 << 30), [], "in a longer time the port may have been idle");
        assert_eq!(ports.observe(1, Time::ms(220), |_| 1 << 31), [], "nothing waits");
    }
}
