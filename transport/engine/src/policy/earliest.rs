//! `earliest`: late binding. A piece goes where it would arrive first, decided when a subchannel can take it. All decisions of
//! this policy follow from the cost model ([`Spread`]).

use super::Multiplex;
use super::spread::{Spread, change_ns};
use super::stripe::{Delivered, MAX_PIECE, NextPiece, Plan, Stripe};
use super::view::View;

/// Longest piece, as time on the wire, in nanoseconds: bounds for how long a subchannel is bound to a piece that it has taken.
const MAX_PIECE_NS: f64 = 1_000_000.0;
/// Lower bound of a piece's maximum length, in bytes, however slow its subchannel: an efficient system call.
const MIN_PIECE_LIMIT: u64 = 64 << 10;

/// Which subchannel takes a message.
#[derive(Default)]
pub struct Earliest {
    /// Position of the subchannel that took the message before.
    last: usize,
}

impl Multiplex for Earliest {
    fn choose(&mut self, len: u64, pending: u64, views: &[View]) -> Option<usize> {
        let current = self.current(views);
        let arrival_ns = |at: usize| views[at].finish_ns(len) + change_ns(&views[at], at == current);
        let best = (0..views.len()).min_by(|a, b| arrival_ns(*a).total_cmp(&arrival_ns(*b)))?;
        let chosen = if views[best].open {
            Some(best)
        } else {
            // The best one is busy. Another takes the message if its share of all waiting bytes covers it.
            let spread = Spread::of(pending.max(len), views, Some(current));
            // An announcement has no bytes, but needs a share above 0.
            let least = (len as f64 - 0.5).max(0.5);
            let takes_it = |at: &usize| views[*at].open && spread.shares[*at] >= least;
            (0..views.len()).filter(takes_it).min_by(|a, b| arrival_ns(*a).total_cmp(&arrival_ns(*b)))
        };
        self.last = chosen.unwrap_or(self.last);
        chosen
    }

    /// The choice holds while no other subchannel, if it were idle, would deliver the message earlier by more than a change costs.
    fn valid_up_to(&self, position: usize, views: &[View]) -> Option<u64> {
        let view = &views[position];
        let others = views.iter().enumerate().filter(|(other, _)| *other != position);
        let earliest_ns = others.map(|(_, other)| other.latency_ns() as f64).fold(f64::INFINITY, f64::min);
        let slack_ns = earliest_ns + change_ns(view, false) - view.latency_ns() as f64;
        Some(((slack_ns * view.rate / 1e9) as u64).min(view.window))
    }

    fn explain(&self) -> String {
        "earliest".into()
    }
}

impl Earliest {
    /// The subchannel that costs no change: that of the message before, or, if that is idle, the one over which the peer sent last,
    /// where an answer carries the acknowledgement.
    fn current(&self, views: &[View]) -> usize {
        let last = self.last.min(views.len() - 1);
        let heard = || views.iter().position(|view| view.is_followed);
        if views[last].in_flight == 0 { heard().unwrap_or(last) } else { last }
    }
}

/// Which subchannel takes the next piece of a message. Has no state.
pub struct EarliestPiece;

impl Stripe for EarliestPiece {
    fn plan(&mut self, _len: u64, _views: &[View]) -> Plan {
        Plan::LateBound
    }

    fn cut(&mut self, remaining: u64, pending: u64, views: &[View]) -> Option<NextPiece> {
        let spread = Spread::of(pending.max(remaining), views, None);
        // While all are open no event would make the scheduler ask again; the best of them always has a share.
        let open = (0..views.len()).filter(|at| views[*at].open && spread.shares[*at] >= 0.5);
        let starts_ns = |at: &usize| views[*at].finish_ns(0);
        let position = open.min_by(|a, b| starts_ns(a).total_cmp(&starts_ns(b)))?;
        Some(NextPiece { position, len: piece_len(spread.shares[position], remaining, &views[position]) })
    }

    fn binds_late(&self) -> bool {
        true
    }

    fn is_worth_cutting(&self, len: u64, views: &[View]) -> bool {
        Spread::of(len, views, None).parts > 1
    }

    fn delivered(&mut self, _stripes: &[Delivered]) {}

    fn explain(&self) -> String {
        "earliest".into()
    }
}

/// Length of the piece that a subchannel takes of the `remaining` bytes, if its share of all waiting bytes is `share`.
fn piece_len(share: f64, remaining: u64, view: &View) -> u64 {
    let longest = ((view.lasting_rate() * MAX_PIECE_NS / 1e9) as u64).clamp(MIN_PIECE_LIMIT, MAX_PIECE);
    let len = (share.ceil() as u64).next_multiple_of(1 << 10).min(longest);
    // A remainder that is not worth a piece of its own is taken too.
    let rest = (view.rate * view.processor.piece(0.0) / 1e9) as u64;
    if len + rest >= remaining { remaining } else { len }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn view(rate: f64, in_flight: u64, delay_ns: u64, open: bool) -> View {
        View { in_flight, delay_ns, open, ..View::idle(rate) }
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
    fn an_announcement_waits_for_a_busy_rail_rather_than_for_one_that_is_slower() {
        let (busy, slow) = (view(125e6, 40_000, 10_000, false), view(0.125e6, 4_000, 10_000, true));
        assert_eq!(Earliest::default().choose(0, 1 << 20, &[busy, slow]), None);
        assert_eq!(Earliest::default().choose(0, 1 << 20, &[busy, view(60e6, 0, 10_000, true)]), Some(1));
    }

    #[test]
    fn an_answer_goes_where_the_question_came_unless_it_would_be_late() {
        let last_received =
            |delay_ns| [view(1e9, 0, 3_000, true), View { is_followed: true, ..view(1e9, 0, delay_ns, true) }];
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
    fn a_slow_rail_is_left_out_of_a_tail_that_it_would_delay() {
        let views = [view(125e6, 2_000, 0, false), view(31e6, 0, 0, true)];
        // 2 KiB take 0.03 ms on the fast rail, of which the slow one would save less than a piece costs.
        assert_eq!(Stripe::cut(&mut EarliestPiece, 2 << 10, 2 << 10, &views), None);
        let piece = Stripe::cut(&mut EarliestPiece, 4 << 20, 4 << 20, &views);
        assert_eq!(piece, Some(NextPiece { position: 1, len: 64 << 10 }));
    }

    #[test]
    fn a_new_stream_with_a_short_window_keeps_nothing_from_one_that_carries() {
        // As fast as its rail, by assumption, but limited to ten segments each round trip.
        let new = |in_flight, open| View { window: 14_480, ..view(1.25e9, in_flight, 10_000_000, open) };
        let carries = |in_flight| View { window: 140_000, ..view(7e6, in_flight, 10_000_000, true) };
        for in_flight in [0, 64 << 10, 256 << 10] {
            let views = [carries(in_flight), new(64 << 10, false)];
            let NextPiece { position, len } = Stripe::cut(&mut EarliestPiece, 512 << 10, 4 << 20, &views).unwrap();
            assert!(position == 0 && len >= 16 << 10, "{in_flight} under way: {len}");
        }
        let views = [carries(256 << 10), new(0, true)];
        let len = Stripe::cut(&mut EarliestPiece, 512 << 10, 4 << 20, &views).unwrap().len;
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
            let len = Stripe::cut(&mut EarliestPiece, remaining, pending, &views).unwrap().len;
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
            let len = EarliestPiece.cut(remaining, remaining, &alone).unwrap().len;
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
