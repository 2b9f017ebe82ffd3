//! Time in MPI that was spent waiting for other ranks, from the messages and collective operations that both sides have
//! recorded (docs/guide/profile.md, *Late peers*).

use std::collections::HashMap;

use fishplate_profile::calls::{self, Form, Kind};
use fishplate_profile::rank_file::event;
use fishplate_profile::read::Event;

use super::clocks::Clocks;
use super::raw::RawRank;
use super::schema::{Late, sum};

/// Time for which a rank waited for others.
pub struct Waiting {
    /// In all.
    pub late: Late,
    pub by_call_ns: Vec<u64>,
}

/// Why somebody waited.
#[derive(Clone, Copy)]
enum Cause {
    Sender,
    Receiver,
    Collective,
}

/// The events of messages and collective operations on all ranks, by the common clock.
#[derive(Default)]
struct Counterparts {
    /// When messages were sent.
    sent: HashMap<(u64, u64), i64>,
    /// When their receives were posted.
    received: HashMap<(u64, u64), i64>,
    /// When the last rank came, and the root.
    collective: HashMap<(u64, u64), (i64, Option<i64>)>,
}

/// Calls that share one waiting time: a call that waits itself, or all calls that complete requests.
type Pool = Option<usize>;

/// The part of a call that its events cover.
#[derive(Clone, Copy, Default)]
struct Measured {
    /// How long it took from its beginning until its last event.
    time_ns: u64,
    /// How long of that it waited for somebody, by cause.
    late_ns: [u64; 3],
}

/// Time for which each rank waited for others.
pub fn waiting(ranks: &[RawRank], clocks: &Clocks) -> Vec<Waiting> {
    let counterparts = Counterparts::of(ranks, clocks);
    (0..ranks.len()).map(|rank| counterparts.waiting(rank, &ranks[rank], clocks)).collect()
}

impl Counterparts {
    fn of(ranks: &[RawRank], clocks: &Clocks) -> Counterparts {
        let mut found = Counterparts::default();
        for (rank, raw) in ranks.iter().enumerate() {
            for event in &raw.counts.events {
                let (id, posted) = ((event.key, event.number), clocks.common_ns(rank, event.posted_ns));
                match event.kind {
                    event::SEND => drop(found.sent.insert(id, posted)),
                    event::RECEIVE => drop(found.received.insert(id, posted)),
                    event::COLLECTIVE => {
                        let known = found.collective.entry(id).or_insert((posted, None));
                        known.0 = known.0.max(posted);
                        known.1 = if event.is_root { Some(posted) } else { known.1 };
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Events of one call began to wait together, so the longest wait among them is that of the call.
    fn waiting(&self, rank: usize, raw: &RawRank, clocks: &Clocks) -> Waiting {
        let mut late = Late { sampling: raw.counts.sampling, ..Late::default() };
        let mut calls: HashMap<(Pool, u64), Measured> = HashMap::new();
        for event in raw.counts.events.iter().filter(|event| event.done_ns > event.waited_ns) {
            let Some((cause, until)) = self.until(event) else { continue };
            let Some(until) = until else {
                late.unmatched += 1;
                continue;
            };
            late.events += 1;
            let waited = clocks.common_ns(rank, event.waited_ns);
            let took = (event.done_ns - event.waited_ns).min(i64::MAX as u64);
            let waited_for = until.saturating_sub(waited).clamp(0, took as i64) as u64;
            // A send that was complete before the receive was posted did not wait for it.
            let did_not_wait = matches!(cause, Cause::Receiver) && waited_for == took;
            let call = calls.entry((pool(event.call), event.waited_ns)).or_default();
            call.time_ns = call.time_ns.max(took);
            let longest = sum(call.late_ns);
            // A peer that is late with both ends of an exchange is waited for because of what it sends.
            let is_same_peer = matches!(cause, Cause::Sender) && waited_for == longest;
            if (waited_for > longest || is_same_peer) && !did_not_wait {
                call.late_ns = [0; 3];
                call.late_ns[cause as usize] = waited_for;
            }
        }
        let mut pools: HashMap<Pool, Measured> = HashMap::new();
        for ((pool, _), call) in calls {
            let sum = pools.entry(pool).or_default();
            sum.time_ns = sum.time_ns.saturating_add(call.time_ns);
            sum.late_ns.iter_mut().zip(call.late_ns).for_each(|(sum, own)| *sum = sum.saturating_add(own));
        }
        let mut by_call_ns = vec![0; raw.counts.calls.len()];
        for (pool, measured) in pools {
            let late_ns = scaled(pool, &measured, raw);
            for (sum, own) in
                [&mut late.sender_ns, &mut late.receiver_ns, &mut late.collective_ns].into_iter().zip(late_ns)
            {
                *sum = sum.saturating_add(own);
            }
            spread(pool, sum(late_ns), raw, &mut by_call_ns);
        }
        Waiting { late, by_call_ns }
    }

    /// End of an event's waiting for a peer, by the common time. Outer `None`: it is unknown; inner `None`: the
    /// other side has recorded nothing.
    fn until(&self, event: &Event) -> Option<(Cause, Option<i64>)> {
        let id = (event.key, event.number);
        match event.kind {
            event::RECEIVE => Some((Cause::Sender, self.sent.get(&id).copied())),
            event::SENT => Some((Cause::Receiver, self.received.get(&id).copied())),
            // An exchange waits for the message that it receives, while its peers send and receive as well.
            event::SEND if waits_itself(event.call) && calls::table()[event.call].kind != Kind::Exchange => {
                Some((Cause::Receiver, self.received.get(&id).copied()))
            }
            event::COLLECTIVE => {
                let (last, root) = *self.collective.get(&id)?;
                match calls::table()[event.call].kind {
                    Kind::Barrier | Kind::All | Kind::Neighbor => Some((Cause::Collective, Some(last))),
                    Kind::Bcast | Kind::Scatter if !event.is_root => Some((Cause::Collective, root)),
                    Kind::Gather | Kind::Reduce if event.is_root => Some((Cause::Collective, Some(last))),
                    // It does not wait.
                    Kind::Bcast | Kind::Scatter | Kind::Gather | Kind::Reduce => {
                        Some((Cause::Collective, Some(i64::MIN)))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Whether a call returns when its work is done.
fn waits_itself(call: usize) -> bool {
    let call = &calls::table()[call];
    call.form == Form::Plain && !matches!(call.kind, Kind::Start | Kind::Complete)
}

fn pool(call: usize) -> Pool {
    waits_itself(call).then_some(call)
}

fn completes(call: usize) -> bool {
    calls::table()[call].kind == Kind::Complete
}

/// Total waiting time of the calls of a pool, extrapolated from the calls with events.
fn scaled(pool: Pool, measured: &Measured, raw: &RawRank) -> [u64; 3] {
    let time_of = |call: usize| raw.counts.calls[call].time_ns;
    let all_ns = match pool {
        Some(call) => time_of(call),
        None => sum((0..raw.counts.calls.len()).filter(|call| completes(*call)).map(time_of)),
    };
    let late_ns = sum(measured.late_ns);
    let factor = match raw.counts.sampling {
        // All are there, and no call waits longer than it takes.
        0 => (all_ns as f64 / late_ns.max(1) as f64).min(1.0),
        _ => all_ns as f64 / measured.time_ns.max(1) as f64,
    };
    measured.late_ns.map(|ns| (ns as f64 * factor) as u64)
}

/// Gives each call of a pool its part, by the time in it.
fn spread(pool: Pool, late_ns: u64, raw: &RawRank, by_call_ns: &mut [u64]) {
    if let Some(call) = pool {
        by_call_ns[call] = by_call_ns[call].saturating_add(late_ns);
        return;
    }
    let completing: Vec<usize> = (0..by_call_ns.len()).filter(|call| completes(*call)).collect();
    let all_ns = sum(completing.iter().map(|call| raw.counts.calls[*call].time_ns));
    for call in completing {
        let share = raw.counts.calls[call].time_ns as f64 / all_ns.max(1) as f64;
        by_call_ns[call] = by_call_ns[call].saturating_add((late_ns as f64 * share) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::test_ranks::{call, rank};

    fn late(ranks: &[RawRank]) -> Vec<[u64; 3]> {
        let waiting = waiting(ranks, &Clocks::estimate(ranks));
        waiting.iter().map(|rank| [rank.late.sender_ns, rank.late.receiver_ns, rank.late.collective_ns]).collect()
    }

    #[test]
    fn a_receiver_waits_for_a_late_sender() {
        let sender = |at| rank(0, 2).event(event::SEND, "MPI_Send", 1, [at, at, at + 10]);
        let receiver = || rank(1, 2).event(event::RECEIVE, "MPI_Recv", 1, [1100, 1100, 1500]);
        assert_eq!(late(&[sender(1400), receiver()]), [[0; 3], [300, 0, 0]]);
        // It was sent before.
        assert_eq!(late(&[sender(1050), receiver()]), [[0; 3]; 2]);
        // Clocks can be wrong: a rank waits at most for the duration of its call.
        assert_eq!(late(&[sender(1700), receiver()])[1], [400, 0, 0]);
    }

    #[test]
    fn a_sender_waits_for_a_late_receiver() {
        let receiver = |at| rank(1, 2).event(event::RECEIVE, "MPI_Recv", 1, [at, at, at + 10]);
        let sender = || rank(0, 2).event(event::SEND, "MPI_Send", 1, [1100, 1100, 1500]);
        assert_eq!(late(&[sender(), receiver(1300)])[0], [0, 200, 0]);
        // It was complete before the receive was posted: its memory was free, and it has not waited for the receiver.
        assert_eq!(late(&[sender(), receiver(1600)])[0], [0; 3]);
        let started = || rank(0, 2).event(event::SEND, "MPI_Isend", 1, [1100, 0, 0]);
        let mut waited = started().event(event::SENT, "MPI_Isend", 1, [1100, 1200, 1500]);
        waited.counts.calls[call("MPI_Wait")].time_ns = 300;
        let ranks = [waited, receiver(1300)];
        assert_eq!(late(&ranks)[0], [0, 100, 0]);
        let by_call = &waiting(&ranks, &Clocks::estimate(&ranks))[0].by_call_ns;
        assert_eq!((by_call[call("MPI_Wait")], by_call[call("MPI_Isend")]), (100, 0));
    }

    #[test]
    fn messages_of_one_wait_are_not_waited_for_twice() {
        let sender = |number, at| rank(0, 3).event(event::SEND, "MPI_Send", number, [at, at, at]);
        let mut receiver = rank(1, 3).event(event::RECEIVE, "MPI_Irecv", 1, [1000, 1100, 1400]).event(
            event::RECEIVE,
            "MPI_Irecv",
            2,
            [1000, 1100, 1500],
        );
        receiver.counts.calls[call("MPI_Waitall")].time_ns = 400;
        let mut senders = sender(1, 1200);
        senders.counts.events.extend(sender(2, 1450).counts.events);
        assert_eq!(late(&[senders, receiver])[1], [350, 0, 0]);
    }

    #[test]
    fn an_exchange_waits_for_what_it_receives() {
        let exchange = |number: usize, sent, received, at: u64| {
            rank(number, 2).event(event::SEND, "MPI_Sendrecv", sent, [at, at, 1500]).event(
                event::RECEIVE,
                "MPI_Sendrecv",
                received,
                [at, at, 1500],
            )
        };
        assert_eq!(late(&[exchange(0, 1, 2, 1100), exchange(1, 2, 1, 1300)]), [[200, 0, 0], [0; 3]]);
    }

    #[test]
    fn collective_operations() {
        let all = |name: &'static str| {
            let enter = move |number: usize, at: u64| rank(number, 3).event(event::COLLECTIVE, name, 1, [at, at, 1900]);
            [enter(0, 1200).being_root(), enter(1, 1300), enter(2, 1000)]
        };
        let waited = |name| late(&all(name)).iter().map(|rank| rank[2]).collect::<Vec<_>>();
        assert_eq!(waited("MPI_Barrier"), [100, 0, 300]);
        assert_eq!(waited("MPI_Allreduce"), [100, 0, 300]);
        assert_eq!(waited("MPI_Bcast"), [0, 0, 200], "the others wait for the root");
        assert_eq!(waited("MPI_Reduce"), [100, 0, 0], "the root waits for the last");
        assert_eq!(waited("MPI_Scan"), [0, 0, 0]);
    }

    #[test]
    fn a_part_of_the_messages_stands_for_all() {
        let sender = rank(0, 2).event(event::SEND, "MPI_Send", 4, [1200, 1200, 1210]);
        let mut receiver = rank(1, 2).event(event::RECEIVE, "MPI_Recv", 4, [1100, 1100, 1300]);
        receiver.counts.sampling = 2;
        // Three more receives took together twice as long as this one.
        receiver.counts.calls[call("MPI_Recv")].time_ns = 600;
        assert_eq!(late(&[sender, receiver])[1], [300, 0, 0]);
    }

    #[test]
    fn times_without_a_recording_of_the_other_side_are_unknown() {
        let receiver = rank(1, 2).event(event::RECEIVE, "MPI_Recv", 4, [1100, 1100, 1300]);
        let ranks = [receiver];
        let waiting = waiting(&ranks, &Clocks::estimate(&ranks));
        assert_eq!((waiting[0].late.events, waiting[0].late.unmatched, waiting[0].late.sender_ns), (0, 1, 0));
    }
}
