//! One time for all ranks: each has the monotonic clock of its machine, and machines have booted at different times.
//!
//! From messages in both directions the difference of two clocks follows as in NTP: a message seems to take its real
//! time plus the difference, a message back its real time minus the difference. So if the fastest messages of both
//! directions took equal time, the difference is half of the difference of their apparent times.

use std::collections::{BTreeMap, HashMap};

use fishplate_profile::rank_file::event;

use super::raw::RawRank;
use super::schema::Clock;

/// The clocks of a world's ranks.
pub struct Clocks {
    /// Distinct clocks; the first one is the reference.
    pub all: Vec<Clock>,
    of_rank: Vec<usize>,
}

/// Least time that messages from one clock to another seemed to take.
type Least = HashMap<(usize, usize), i64>;

impl Clocks {
    pub fn estimate(ranks: &[RawRank]) -> Clocks {
        let mut known: Vec<&str> = Vec::new();
        let mut of_rank = Vec::new();
        for rank in ranks {
            let clock = rank.counts.clock.as_str();
            let place = known.iter().position(|known| *known == clock);
            of_rank.push(place.unwrap_or_else(|| {
                known.push(clock);
                known.len() - 1
            }));
        }
        let mut clocks: Vec<Clock> = (0..known.len()).map(|clock| from_time_of_day(clock, &of_rank, ranks)).collect();
        let ahead_ns = clocks.first().map_or(0, |first| first.ahead_ns);
        clocks.iter_mut().for_each(|clock| clock.ahead_ns = clock.ahead_ns.wrapping_sub(ahead_ns));
        if known.len() > 1 {
            improve(&mut clocks, &least_times(ranks, &of_rank));
        }
        Clocks { all: clocks, of_rank }
    }

    /// Converts a time of a rank's clock (by its place among the ranks) to the first clock.
    pub fn common_ns(&self, rank: usize, time_ns: u64) -> i64 {
        (time_ns as i64).wrapping_sub(self.all[self.of_rank[rank]].ahead_ns)
    }
}

/// A clock by the time of day: `ahead_ns` is that of its zero before 1970.
fn from_time_of_day(clock: usize, of_rank: &[usize], ranks: &[RawRank]) -> Clock {
    let own = ranks.iter().zip(of_rank).filter(|(_, of)| **of == clock).map(|(rank, _)| &rank.counts);
    let mut hosts: Vec<String> = own.clone().map(|rank| rank.host.clone()).collect();
    hosts.sort();
    hosts.dedup();
    let mut ahead: Vec<i64> =
        own.map(|rank| (rank.started_ns as i64).wrapping_sub(rank.started_realtime_ns as i64)).collect();
    ahead.sort_unstable();
    Clock { hosts, ahead_ns: ahead[ahead.len() / 2], uncertainty_ns: None }
}

/// How long the fastest message from each clock to each other one seemed to take.
fn least_times(ranks: &[RawRank], of_rank: &[usize]) -> Least {
    let mut posted = HashMap::new();
    for (rank, clock) in ranks.iter().zip(of_rank) {
        for sent in rank.counts.events.iter().filter(|event| event.kind == event::SEND) {
            posted.insert((sent.key, sent.number), (*clock, sent.posted_ns));
        }
    }
    let mut least = Least::new();
    for (rank, to) in ranks.iter().zip(of_rank) {
        for received in rank.counts.events.iter().filter(|event| event.kind == event::RECEIVE) {
            let Some((from, posted_ns)) = posted.get(&(received.key, received.number)) else { continue };
            if from != to {
                let took_ns = (received.done_ns as i64).wrapping_sub(*posted_ns as i64);
                let known = least.entry((*from, *to)).or_insert(took_ns);
                *known = took_ns.min(*known);
            }
        }
    }
    least
}

/// Goes from clock to clock along messages in both directions, the most certain pairs first.
fn improve(clocks: &mut [Clock], least: &Least) {
    let mut pairs: BTreeMap<(usize, usize), (i64, i64)> = BTreeMap::new();
    for (&(from, to), &there) in least {
        if let Some(&back) = least.get(&(to, from)) {
            // The clock at `to` is ahead of the other by half the difference.
            pairs.insert((from, to), (there.wrapping_sub(back) / 2, there.wrapping_add(back) / 2));
        }
    }
    let mut doubt = vec![None; clocks.len()];
    doubt[0] = Some(0_i64);
    while let Some((total, from, to, ahead)) = pairs
        .iter()
        .filter(|((_, to), _)| doubt[*to].is_none())
        .filter_map(|(&(from, to), &(ahead, own))| Some((doubt[from]?.saturating_add(own.max(0)), from, to, ahead)))
        .min()
    {
        doubt[to] = Some(total);
        clocks[to].ahead_ns = clocks[from].ahead_ns.wrapping_add(ahead);
        clocks[to].uncertainty_ns = Some(total as u64);
    }
    clocks[0].uncertainty_ns = Some(0);
    bound_by_one_way(clocks, least);
}

/// Where messages went one way only, none may seem to arrive before it was sent.
fn bound_by_one_way(clocks: &mut [Clock], least: &Least) {
    for (&(from, to), &took) in least {
        if clocks[from].uncertainty_ns.is_some() && clocks[to].uncertainty_ns.is_none() {
            clocks[to].ahead_ns = clocks[to].ahead_ns.min(clocks[from].ahead_ns.wrapping_add(took));
        } else if clocks[to].uncertainty_ns.is_some() && clocks[from].uncertainty_ns.is_none() {
            clocks[from].ahead_ns = clocks[from].ahead_ns.max(clocks[to].ahead_ns.wrapping_sub(took));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::test_ranks::rank;

    /// A message from rank 0 at 1100 that arrives at 1150, and one back, of another number, that takes as long.
    fn two(ahead_ns: u64, back: bool) -> Vec<RawRank> {
        let mut first = rank(0, 2).event(event::SEND, "MPI_Send", 1, [1100, 1100, 1110]);
        let mut second = rank(1, 2).event(event::RECEIVE, "MPI_Recv", 1, [1000, 1000, 1150]);
        if back {
            first = first.event(event::RECEIVE, "MPI_Recv", 2, [1110, 1110, 1250]);
            second = second.event(event::SEND, "MPI_Send", 2, [1200, 1200, 1210]);
        }
        vec![first, second.on("b", ahead_ns)]
    }

    #[test]
    fn ranks_of_one_machine_share_a_clock() {
        let clocks = Clocks::estimate(&[rank(0, 2), rank(1, 2)]);
        assert_eq!((clocks.all.len(), clocks.common_ns(1, 1234)), (1, 1234));
    }

    #[test]
    fn messages_in_both_directions_show_the_difference() {
        let mut ranks = two(5_000_000, true);
        // The time of day is wrong by a second.
        ranks[1].counts.started_realtime_ns += 1_000_000_000;
        let clocks = Clocks::estimate(&ranks);
        assert_eq!(clocks.common_ns(1, 5_001_200), 1200);
        assert_eq!((clocks.all[1].uncertainty_ns, &clocks.all[1].hosts), (Some(50), &vec!["b".to_string()]));
    }

    #[test]
    fn without_messages_back_the_time_of_day_counts() {
        let clocks = Clocks::estimate(&two(5_000_000, false));
        assert_eq!((clocks.common_ns(1, 5_001_200), clocks.all[1].uncertainty_ns), (1200, None));
        // But no message arrives before it was sent.
        let mut ranks = two(5_000_000, false);
        ranks[1].counts.started_realtime_ns -= 1000;
        let clocks = Clocks::estimate(&ranks);
        assert_eq!(clocks.common_ns(1, 5_001_150), 1100);
    }

    #[test]
    fn a_third_machine_is_reached_through_the_second() {
        let mut ranks = two(5_000, true);
        let third = rank(2, 3).event(event::RECEIVE, "MPI_Recv", 3, [1300, 1300, 1350]).event(
            event::SEND,
            "MPI_Send",
            4,
            [1400, 1400, 1410],
        );
        ranks.push(third.on("c", 9_000_000));
        let second = rank(1, 3)
            .event(event::SEND, "MPI_Send", 3, [1320, 1320, 1330])
            .event(event::RECEIVE, "MPI_Recv", 4, [1300, 1300, 1430])
            .on("b", 5_000);
        ranks[1].counts.events.extend(second.counts.events);
        let clocks = Clocks::estimate(&ranks);
        assert_eq!((clocks.common_ns(2, 9_001_400), clocks.all[2].uncertainty_ns), (1400, Some(80)));
    }
}
