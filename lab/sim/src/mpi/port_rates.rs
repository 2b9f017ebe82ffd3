//! The rates of rails' ports, of all processes of a host, as drivers measure them.

use fishplate_engine::PortRate;

use crate::models::time::Time;

/// What all processes know of ports: by rank, each with the adapter that stands for it.
pub struct PortRates(Vec<Vec<(u32, PortRate)>>);

impl PortRates {
    /// Of processes that know nothing.
    pub fn new(ranks: usize) -> PortRates {
        PortRates(vec![Vec::new(); ranks])
    }

    /// Messages of a rank wait for a port.
    pub fn waits(&mut self, rank: u32, port: u32) {
        let known = &mut self.0[rank as usize];
        let at = known.iter().position(|(known, _)| *known == port).unwrap_or_else(|| {
            known.push((port, PortRate::default()));
            known.len() - 1
        });
        known[at].1.is_busy = true;
    }

    /// The ports of busy rails whose observation ends now, with their rates in bytes per second.
    pub fn observe(&mut self, rank: u32, now: Time, sent: impl Fn(u32) -> u64) -> Vec<(u32, f64)> {
        let busy = self.0[rank as usize].iter_mut().filter(|(_, rate)| rate.is_busy);
        let end = |(port, rate): &mut (u32, PortRate)| {
            rate.is_busy = false;
            Some((*port, rate.observe(now.instant(), || Some(sent(*port)))?))
        };
        busy.filter_map(end).collect()
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
