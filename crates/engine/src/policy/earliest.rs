//! `earliest`: late binding. A piece goes where it would arrive first, decided when a subchannel can take it; a slow
//! subchannel is left out of a tail that it would delay; pieces shrink towards the end.
//!
//! One that is limited by the host, as its driver says, takes everything: it drains faster than this process can feed
//! it, and a second one costs both sides processor time that is short.

use arrayvec::ArrayVec;

use super::multiplex::Multiplex;
use super::stripe::{Delivered, MAX_PIECE, Plan, Stripe};
use super::view::{View, WORTH_CHANGING_NS, finish_without_ns};
use crate::limits::MAX_SUBCHANNELS;

/// When nothing is in flight there: differences up to this are within the noise of what is known of near paths.
const WORTH_CHANGING_IDLE_NS: f64 = 5_000.0;
/// Pieces are not cut shorter than so much time on the wire, as each costs a header and a part of a system call.
const MIN_PIECE_NS: f64 = 33_000.0;
/// Bounds of that, in bytes.
const MIN_PIECE: std::ops::RangeInclusive<u64> = 4 << 10..=16 << 10;
/// Longest piece, as time on the wire: bounds how long a subchannel is bound to what it has taken.
const MAX_PIECE_NS: f64 = 1_000_000.0;
/// When a message would have arrived over each subchannel, in nanoseconds from now.
type Times = ArrayVec<f64, MAX_SUBCHANNELS>;

/// Which subchannel takes a message.
#[derive(Default)]
pub struct Earliest {
    /// Where the message before went.
    last: usize,
}

impl Multiplex for Earliest {
    fn choose(&mut self, len: u64, pending: u64, views: &[View]) -> Option<usize> {
        if let Some(ample) = views.iter().position(|view| view.is_host_limited) {
            return views[ample].open.then_some(ample);
        }
        let finish_ns: Times = views.iter().map(|view| view.finish_ns(len)).collect();
        let usual = self.usual(&finish_ns, views);
        let mut best = usual;
        for (position, view) in views.iter().enumerate() {
            let gain = finish_ns[best] - finish_ns[position];
            let worth = if best == usual { worth_changing(&views[best]) } else { 0.0 };
            if view.open && (gain > worth || !views[best].open) {
                best = position;
            }
        }
        if !worthwhile(best, len, pending, WORTH_CHANGING_NS, views) {
            return None;
        }
        self.last = best;
        Some(best)
    }

    /// As long as no other one, were it idle, would deliver so much earlier that a change were worth it.
    fn valid_up_to(&self, position: usize, views: &[View]) -> Option<u64> {
        let view = &views[position];
        if view.is_host_limited {
            return Some(u64::MAX);
        }
        let others = views.iter().enumerate().filter(|(other, _)| *other != position);
        let earliest_ns = others.map(|(_, other)| other.latency_ns() as f64).fold(f64::INFINITY, f64::min);
        let slack_ns = earliest_ns + WORTH_CHANGING_NS - view.latency_ns() as f64;
        Some(((slack_ns * view.rate / 1e9) as u64).min(view.window))
    }

    fn explain(&self) -> String {
        "earliest".into()
    }
}

impl Earliest {
    /// The subchannel of the message before; or, if that is idle and it makes no difference, the one over which the
    /// peer was heard: an answer there carries the acknowledgement, so that the peer learns what that subchannel is
    /// worth.
    fn usual(&self, finish_ns: &Times, views: &[View]) -> usize {
        let last = self.last.min(views.len() - 1);
        let latest_ns = finish_ns[last] + WORTH_CHANGING_IDLE_NS;
        let is_as_good = |at: &usize| views[*at].is_last_received && views[*at].open && finish_ns[*at] <= latest_ns;
        let last_received = (0..views.len()).find(is_as_good).filter(|_| views[last].in_flight == 0);
        last_received.unwrap_or(last)
    }
}

fn worth_changing(from: &View) -> f64 {
    if from.in_flight > 0 { WORTH_CHANGING_NS } else { WORTH_CHANGING_IDLE_NS }
}

/// Which subchannel takes the next piece of a message. It remembers nothing.
pub struct EarliestPiece;

impl Stripe for EarliestPiece {
    fn plan(&mut self, _len: u64, _views: &[View]) -> Plan {
        Plan::LateBound
    }

    fn cut(&mut self, remaining: u64, pending: u64, views: &[View]) -> Option<(usize, u64)> {
        if let Some(ample) = views.iter().position(|view| view.is_host_limited) {
            let len = piece_len(pending, views[ample].rate, views[ample].rate).min(remaining);
            return views[ample].open.then_some((ample, len));
        }
        let rates: f64 = views.iter().map(View::lasting_rate).sum();
        let piece = |view: &View| piece_len(pending, view.lasting_rate(), rates).min(remaining);
        // While all are open no event would make the scheduler ask again.
        let all_open = views.iter().all(|view| view.open);
        let worth = |position, view: &View| view.open && worthwhile(position, piece(view), pending, 0.0, views);
        let finish = |(_, view): &(usize, &View)| view.finish_ns(piece(view));
        let earliest = |a: &(usize, &View), b: &(usize, &View)| finish(a).total_cmp(&finish(b));
        let views = || views.iter().enumerate();
        let best = views().filter(|(position, view)| worth(*position, view)).min_by(earliest);
        let (position, view) = best.or_else(|| views().min_by(earliest).filter(|_| all_open))?;
        Some((position, piece(view)))
    }

    fn binds_late(&self) -> bool {
        true
    }

    fn delivered(&mut self, _stripes: &[Delivered]) {}

    fn explain(&self) -> String {
        "earliest".into()
    }
}

/// Whether `len` of the `pending` bytes arrive over this open subchannel no more than `slack_ns` after the others
/// would have delivered everything without it. One of those takes `len` bytes at least: so this never turns down the
/// best of all, for which no event would make the scheduler ask again.
fn worthwhile(position: usize, len: u64, pending: u64, slack_ns: f64, views: &[View]) -> bool {
    let view = &views[position];
    let others = views.iter().enumerate().filter(|(other, _)| *other != position);
    let alone_ns = others.map(|(_, other)| other.finish_ns(len)).fold(f64::INFINITY, f64::min);
    let latest_ns = view.finish_ns(len) - slack_ns;
    view.open && (latest_ns <= alone_ns || latest_ns <= finish_without_ns(views, position, pending.max(len)))
}

/// Half of the share that a subchannel would have of what is left, so that pieces shrink towards the end.
fn piece_len(pending: u64, rate: f64, rates: f64) -> u64 {
    let longest = ((rate * MAX_PIECE_NS / 1e9) as u64).clamp(4 * MIN_PIECE.end(), MAX_PIECE);
    let least = ((rate * MIN_PIECE_NS / 1e9) as u64).clamp(*MIN_PIECE.start(), *MIN_PIECE.end());
    let share = (pending as f64 * (rate / rates) / 2.0) as u64;
    share.next_multiple_of(4 << 10).clamp(least, longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn view(rate: f64, in_flight: u64, delay_ns: u64, open: bool) -> View {
        let (speed, window) = (rate, u64::MAX);
        let (late_ns, is_host_limited, is_last_received) = (0, false, false);
        View {
            rail: 0,
            streams: 1,
            open,
            in_flight,
            speed,
            rate,
            delay_ns,
            late_ns,
            window,
            is_host_limited,
            is_last_received,
        }
    }

    #[test]
    fn an_idle_pair_gives_a_small_message_to_the_nearer_rail() {
        let views = [view(31e6, 0, 20_000_000, true), view(125e6, 0, 50_000, true)];
        assert_eq!(Earliest::default().choose(64, 64, &views), Some(1));
    }

    #[test]
    fn a_small_message_stays_where_the_last_one_went() {
        let mut policy = Earliest::default();
        let views = [view(1e9, 640, 10_000, true), view(1e9, 0, 10_000, true)];
        assert_eq!(policy.choose(64, 64, &views), Some(0));
        let views = [view(1e9, 200_000, 10_000, true), view(1e9, 0, 10_000, true)];
        assert_eq!(policy.choose(64, 64, &views), Some(1));
    }

    #[test]
    fn an_answer_goes_where_the_question_came_unless_it_would_be_late() {
        let last_received =
            |delay_ns| [view(1e9, 0, 3_000, true), View { is_last_received: true, ..view(1e9, 0, delay_ns, true) }];
        assert_eq!(Earliest::default().choose(64, 64, &last_received(6_000)), Some(1));
        assert_eq!(Earliest::default().choose(64, 64, &last_received(60_000)), Some(0));
        let mut busy = last_received(3_000);
        busy[0].in_flight = 640;
        assert_eq!(Earliest::default().choose(64, 64, &busy), Some(0));
    }

    proptest! {
        #[test]
        fn a_choice_stands_only_where_it_would_be_made_again(
            rails in prop::collection::vec((1e6f64..1e10, 0u64..1 << 18, 0u64..1 << 20, 1u64..1 << 24), 2..6),
            drained in prop::collection::vec(0.0f64..1.0, 6),
            len in 1u64..1 << 16,
        ) {
            let view = |(rate, in_flight, delay, window): &(f64, u64, u64, u64)| {
                View { window: *window, ..view(*rate, *in_flight, *delay, true) }
            };
            let mut views: Vec<View> = rails.iter().map(view).collect();
            let mut policy = Earliest::default();
            let chosen = policy.choose(len, len, &views).unwrap();
            let most = policy.valid_up_to(chosen, &views).unwrap();
            for (view, left) in views.iter_mut().zip(drained) {
                view.in_flight = (view.in_flight as f64 * left) as u64;
            }
            views[chosen].in_flight = most.saturating_sub(len).max(1);
            if views[chosen].in_flight + len <= most {
                prop_assert_eq!(policy.choose(len, len, &views), Some(chosen));
            }
        }
    }

    #[test]
    fn what_is_ample_takes_everything_and_is_waited_for() {
        let mut policy = Earliest::default();
        let ample =
            |open| [view(1e9, 0, 10_000, true), View { is_host_limited: true, ..view(1e9, 1 << 20, 10_000, open) }];
        assert_eq!((policy.choose(64, 64, &ample(true)), policy.choose(64, 64, &ample(false))), (Some(1), None));
        let (rail, len) = EarliestPiece.cut(4 << 20, 4 << 20, &ample(true)).unwrap();
        assert_eq!((rail, len > 64 << 10, EarliestPiece.cut(4 << 20, 4 << 20, &ample(false))), (1, true, None));
    }

    #[test]
    fn a_slow_rail_is_left_out_of_a_tail_that_it_would_delay() {
        let views = [view(125e6, 2_000, 0, false), view(31e6, 0, 0, true)];
        // 8 KiB take 0.08 ms on the fast rail, and half of that 0.13 ms on the slow one.
        assert_eq!(Stripe::cut(&mut EarliestPiece, 8 << 10, 8 << 10, &views), None);
        let (rail, len) = Stripe::cut(&mut EarliestPiece, 4 << 20, 4 << 20, &views).unwrap();
        assert_eq!((rail, len), (1, 64 << 10));
    }

    #[test]
    fn a_new_stream_with_a_short_window_keeps_nothing_from_one_that_carries() {
        // As fast as its rail, it is thought, but with ten segments each round trip.
        let new = |in_flight, open| View { window: 14_480, ..view(1.25e9, in_flight, 10_000_000, open) };
        let carries = |in_flight| View { window: 140_000, ..view(7e6, in_flight, 10_000_000, true) };
        for in_flight in [0, 64 << 10, 256 << 10] {
            let views = [carries(in_flight), new(64 << 10, false)];
            let (position, len) = Stripe::cut(&mut EarliestPiece, 512 << 10, 4 << 20, &views).unwrap();
            assert!(position == 0 && len >= 16 << 10, "{in_flight} under way: {len}");
        }
        let (_, len) =
            Stripe::cut(&mut EarliestPiece, 512 << 10, 4 << 20, &[carries(256 << 10), new(0, true)]).unwrap();
        assert!(len <= 64 << 10, "{len}");
    }

    #[test]
    fn something_open_and_best_is_never_turned_down() {
        let three = [view(125e6, 0, 0, true); 3];
        for len in [1, 2048, 16 << 10, 64 << 10] {
            assert!(Multiplex::choose(&mut Earliest::default(), len, len, &three).is_some(), "{len}");
            assert!(Stripe::cut(&mut EarliestPiece, len, len, &three).is_some(), "{len}");
        }
    }

    proptest! {
        /// With all open, nothing would make the engine ask again.
        #[test]
        fn nothing_waits_while_all_are_open(
            rails in prop::collection::vec((1e3f64..1e10, 0u64..1 << 24, 0u64..1 << 27, 1u64..1 << 24), 1..6),
            remaining in 1u64..1 << 26,
            behind in 0u64..1 << 26,
        ) {
            let view = |(rate, in_flight, delay, window): &(f64, u64, u64, u64)| {
                View { window: *window, ..view(*rate, *in_flight, *delay, true) }
            };
            let views: Vec<View> = rails.iter().map(view).collect();
            let pending = remaining + behind;
            let (_, len) = Stripe::cut(&mut EarliestPiece, remaining, pending, &views).unwrap();
            prop_assert!(len > 0 && len <= remaining);
            prop_assert!(Multiplex::choose(&mut Earliest::default(), remaining, pending, &views).is_some());
        }
    }

    #[test]
    fn pieces_shrink_towards_the_end_and_a_single_rail_takes_all() {
        let alone = [view(1.25e9, 0, 0, true)];
        let mut remaining = 1 << 20;
        let mut before = u64::MAX;
        while remaining > 0 {
            let (_, len) = EarliestPiece.cut(remaining, remaining, &alone).unwrap();
            assert!(len <= before && len <= remaining);
            before = len;
            remaining -= len;
        }
    }

    #[test]
    fn nothing_is_taken_while_all_are_shut() {
        let views = [view(1e9, 1 << 20, 0, false), view(1e9, 1 << 20, 0, false)];
        assert_eq!(Stripe::cut(&mut EarliestPiece, 1 << 20, 1 << 20, &views), None);
        assert_eq!(Multiplex::choose(&mut Earliest::default(), 1, 1, &views), None);
    }
}
