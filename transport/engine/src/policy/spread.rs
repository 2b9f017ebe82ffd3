//! The cost model: when bytes that are spread over several subchannels will have arrived.
//!
//! Over one subchannel, `len` bytes arrive after (queued + len) / rate + delay ([`View::finish_ns`]). Over several they arrive
//! first if each takes as much as it delivers by one common time. A subchannel takes part where that makes the common time
//! earlier by more than its part costs: the processor time of a piece, and the error of the prediction.

use arrayvec::ArrayVec;

use super::view::View;
use crate::limits::MAX_SUBCHANNELS;

/// Assumed relative error of a path's rate: a subchannel gets less than its share by this part, and nothing where its share would
/// save less.
pub const RATE_ERROR: f64 = 1.0 / 16.0;

/// One subchannel as a line: it starts to deliver at `start_ns`, with `rate` bytes per nanosecond.
#[derive(Clone, Copy)]
struct Line {
    position: usize,
    start_ns: f64,
    rate: f64,
}

/// How bytes are spread.
pub struct Spread {
    /// Bytes of each subchannel, by position; 0: it takes no part.
    pub shares: ArrayVec<f64, MAX_SUBCHANNELS>,
    /// How many subchannels take part.
    pub parts: usize,
}

impl Spread {
    /// Spreads `len` bytes over `views`, which must not be empty. To use another subchannel than `current` costs a piece.
    pub fn of(len: u64, views: &[View], current: usize) -> Spread {
        let change_ns = |at: usize| if at == current { 0.0 } else { views[at].processor.piece() };
        let alone_ns = |at: usize| views[at].finish_ns(len) + change_ns(at);
        let best = (0..views.len()).min_by(|a, b| alone_ns(*a).total_cmp(&alone_ns(*b))).unwrap_or(0);
        let latest_ns = alone_ns(best);
        let line = |position: usize, rate: f64| Line::of(&View { rate, ..views[position] }, position, latest_ns, len);
        // Their queues were filled by reduced shares too.
        let hedged = |at: usize| line(at, views[at].rate * (1.0 - RATE_ERROR));
        let mut others: ArrayVec<Line, MAX_SUBCHANNELS> =
            (0..views.len()).filter(|at| *at != best).map(hedged).filter(|line| line.start_ns < latest_ns).collect();
        others.sort_unstable_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
        let first = line(best, views[best].rate);
        let mut taken: ArrayVec<Line, MAX_SUBCHANNELS> = ArrayVec::new();
        taken.push(Line { start_ns: latest_ns - len as f64 / first.rate, ..first });
        let mut common = Common { rate: first.rate, offset: first.rate * taken[0].start_ns, len: len as f64 };
        // The processors of either end carry all bytes, whatever subchannels these use.
        let processor = views[best].processor;
        let ends_ns = |common: &Common, parts: usize| common.finish_ns().max(processor.of(parts, len));
        for other in others {
            let with = common.and(&other);
            let error_ns = RATE_ERROR * (with.finish_ns() - views[other.position].latency_ns() as f64);
            let gain_ns = ends_ns(&common, taken.len()) - ends_ns(&with, taken.len() + 1);
            if gain_ns > processor.piece() + error_ns {
                common = with;
                taken.push(other);
            }
        }
        // Leaves out subchannels that begin to deliver only when the others have delivered all.
        while let Some(at) = taken.iter().position(|line| line.start_ns >= common.finish_ns()) {
            common = common.without(&taken.remove(at));
        }
        let finish_ns = common.finish_ns();
        let mut shares: ArrayVec<f64, MAX_SUBCHANNELS> = views.iter().map(|_| 0.0).collect();
        taken.iter().for_each(|line| shares[line.position] = (line.rate * (finish_ns - line.start_ns)).max(0.0));
        Spread { shares, parts: taken.len() }
    }
}

/// The subchannels that take part, as one line.
#[derive(Clone, Copy)]
struct Common {
    rate: f64,
    /// Sum of rate times start.
    offset: f64,
    len: f64,
}

impl Common {
    fn finish_ns(&self) -> f64 {
        (self.len + self.offset) / self.rate
    }

    fn and(&self, line: &Line) -> Common {
        Common { rate: self.rate + line.rate, offset: self.offset + line.rate * line.start_ns, len: self.len }
    }

    fn without(&self, line: &Line) -> Common {
        Common { rate: self.rate - line.rate, offset: self.offset - line.rate * line.start_ns, len: self.len }
    }
}

impl Line {
    /// The line of a subchannel up to about `at_ns`. Its rate is a window each round trip, where that is less than the path's rate.
    fn of(view: &View, position: usize, at_ns: f64, len: u64) -> Line {
        let queued = view.in_flight as f64;
        let (rate, latency_ns) = (view.rate / 1e9, view.latency_ns() as f64);
        let unlimited = Line { position, start_ns: queued / rate + latency_ns, rate };
        if view.in_flight + len <= view.window {
            return unlimited;
        }
        // A window leaves at once, and a further one each round trip.
        let lasting = view.lasting_rate() / 1e9;
        let limited = Line { position, start_ns: (queued - view.window as f64) / lasting + latency_ns, rate: lasting };
        let by = |line: &Line| line.rate * (at_ns - line.start_ns);
        if by(&limited) < by(&unlimited) { limited } else { unlimited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::ProcessorCost;
    use proptest::prelude::*;

    fn views(rates: &[f64]) -> Vec<View> {
        rates.iter().map(|rate| View { delay_ns: 10_000, ..View::idle(*rate) }).collect()
    }

    #[test]
    fn equal_rails_halve_what_takes_longer_than_a_piece_costs() {
        let two = views(&[125e6, 125e6]);
        assert_eq!(Spread::of(1 << 10, &two, 0).parts, 1);
        for len in [16 << 10, 128 << 10, 4 << 20] {
            let spread = Spread::of(len, &two, 0);
            let part = spread.shares[0] / len as f64;
            assert!(spread.parts == 2 && (0.5..0.6).contains(&part), "{len}: {part}");
        }
        let fast = views(&[1.25e9, 1.25e9]);
        assert_eq!((Spread::of(16 << 10, &fast, 0).parts, Spread::of(256 << 10, &fast, 0).parts), (1, 2));
    }

    #[test]
    fn a_rail_that_carries_less_than_the_error_of_its_rate_takes_no_part() {
        for slow in [1.25e5, 1.25e6, 6.25e6] {
            for len in [16 << 10, 1 << 20, 64 << 20] {
                assert_eq!(Spread::of(len, &views(&[125e6, slow]), 0).parts, 1, "{slow}: {len}");
            }
        }
        assert_eq!(Spread::of(1 << 20, &views(&[125e6, 31e6]), 0).parts, 2);
    }

    #[test]
    fn what_waits_already_counts() {
        let mut two = views(&[125e6, 125e6]);
        two[0].in_flight = 128 << 10;
        let spread = Spread::of(64 << 10, &two, 0);
        assert!(spread.parts == 1 && spread.shares[0] == 0.0);
        two[0].in_flight = 32 << 10;
        let spread = Spread::of(128 << 10, &two, 0);
        assert!(spread.parts == 2 && spread.shares[1] > spread.shares[0] + 24e3);
    }

    #[test]
    fn the_processor_bounds_how_many_rails_pay() {
        let fast = |byte_ns| -> Vec<View> {
            let processor = ProcessorCost { byte_ns, ..ProcessorCost::default() };
            views(&[5e9, 5e9]).into_iter().map(|view| View { processor, ..view }).collect()
        };
        assert_eq!((Spread::of(1 << 20, &fast(0.05), 0).parts, Spread::of(1 << 20, &fast(0.2), 0).parts), (2, 1));
    }

    proptest! {
        #[test]
        fn shares_are_all_bytes(
            rails in prop::collection::vec((1e3f64..1e10, 0u64..1 << 24, 0u64..1 << 27, 1u64..1 << 24), 1..8),
            len in 1u64..1 << 30,
        ) {
            let view = |(rate, in_flight, delay_ns, window): &(f64, u64, u64, u64)| {
                View { in_flight: *in_flight, window: *window, delay_ns: *delay_ns, ..View::idle(*rate) }
            };
            let views: Vec<View> = rails.iter().map(view).collect();
            let spread = Spread::of(len, &views, 0);
            let sum: f64 = spread.shares.iter().sum();
            prop_assert!((sum / len as f64 - 1.0).abs() < 1e-6, "{sum}");
        }
    }
}
