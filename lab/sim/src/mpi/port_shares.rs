//! What processes get of rails' ports, as drivers measure it.

use fishplate_engine::{PortBytes, PortShare};

use crate::models::time::Time;

/// What all processes know of ports.
pub struct PortShares {
    /// By rank, each with the adapter that stands for it.
    known: Vec<Vec<(u32, PortShare)>>,
    /// Ranks that share a port.
    per_host: u32,
}

impl PortShares {
    /// Of processes that know nothing.
    pub fn new(ranks: usize, per_host: u32) -> PortShares {
        PortShares { known: vec![Vec::new(); ranks], per_host }
    }

    /// Messages of a rank wait for a port.
    pub fn waits(&mut self, rank: u32, port: u32) {
        let known = &mut self.known[rank as usize];
        let at = known.iter().position(|(known, _)| *known == port).unwrap_or_else(|| {
            known.push((port, PortShare::default()));
            known.len() - 1
        });
        known[at].1.is_busy = true;
    }

    /// The ports of busy rails whose observation ends now, with the bytes that the rank may queue at them.
    pub fn observe(&mut self, rank: u32, now: Time, sent: impl Fn(u32) -> PortBytes) -> Vec<(u32, u64)> {
        let per_host = self.per_host;
        let busy = self.known[rank as usize].iter_mut().filter(|(_, share)| share.is_busy);
        let end = |(port, share): &mut (u32, PortShare)| {
            share.is_busy = false;
            Some((*port, share.observe(now.instant(), per_host, 0, || Some(sent(*port)))?))
        };
        busy.filter_map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_knows_its_part_of_what_all_have_sent_while_its_messages_wait() {
        let mut ports = PortShares::new(2, 4);
        let mut at = |ms, all: u64| {
            ports.waits(1, 7);
            ports.observe(1, Time::ms(ms), |_| PortBytes { all, own: 0 })
        };
        assert_eq!((at(0, 5), at(5, 9)), (vec![], vec![]), "nothing was seen before, and too soon");
        assert_eq!(at(20, 10_000_005), [(7, 1_000_000)]);
        assert_eq!(at(200, 1 << 30), [], "in a longer time the port may have been idle");
        let later = ports.observe(1, Time::ms(220), |_| PortBytes { all: 1 << 31, own: 0 });
        assert_eq!(later, [], "nothing waits");
    }
}
