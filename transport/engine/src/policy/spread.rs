//! The cost model: when bytes that are spread over several subchannels will have arrived.
//!
//! Over one subchannel, `len` bytes arrive after (queued + len) / rate + delay ([`View::finish_ns`]), or after queued / rate + delay
//! if they are a burst that passes at once. Over several they arrive first if each takes as much as it delivers by one common
//! time. A subchannel takes part where that makes the common time earlier by more than its part costs: the processor time of a
//! piece, and the error of the prediction.

use arrayvec::ArrayVec;

use super::view::View;
use crate::limits::MAX_SUBCHANNELS;

/// Assumed relative error of a path's rate: a subchannel gets less than its share by this part, and nothing where its share would
/// save less.
pub const RATE_ERROR: f64 = 1.0 / 16.0;

/// One subchannel: from `start_ns` on it has delivered `burst` bytes, or `rate` bytes per nanosecond if that is more.
#[derive(Clone, Copy)]
struct Line {
    position: usize,
    start_ns: f64,
    rate: f64,
    burst: f64,
}

type Lines = ArrayVec<Line, MAX_SUBCHANNELS>;

/// How bytes are spread.
pub struct Spread {
    /// Bytes of each subchannel, by position; 0: it takes no part.
    pub shares: ArrayVec<f64, MAX_SUBCHANNELS>,
    /// How many subchannels take part.
    pub parts: usize,
}

impl Spread {
    /// Spreads `len` bytes over `views`, which must not be empty. To use another subchannel than `current`, if there is one, costs
    /// one more piece.
    pub fn of(len: u64, views: &[View], current: Option<usize>) -> Spread {
        let is_current = |at: usize| current.is_none_or(|current| current == at);
        let alone_ns = |at: usize| views[at].finish_ns(len) + change_ns(&views[at], is_current(at));
        let best = (0..views.len()).min_by(|a, b| alone_ns(*a).total_cmp(&alone_ns(*b))).unwrap_or(0);
        let latest_ns = alone_ns(best);
        let line = |position: usize, rate: f64| Line::of(&View { rate, ..views[position] }, position, latest_ns, len);
        // Their queues were filled by reduced shares too.
        let hedged = |at: usize| line(at, views[at].rate * (1.0 - RATE_ERROR));
        let mut others: Lines =
            (0..views.len()).filter(|at| *at != best).map(hedged).filter(|line| line.start_ns < latest_ns).collect();
        others.sort_unstable_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
        let mut taken = Lines::new();
        taken.push(line(best, views[best].rate).ending_at(latest_ns, len as f64));
        let mut finish_ns = latest_ns;
        // The processors of either end carry all bytes, whatever subchannels these use.
        let processor = views[best].processor;
        let least_ns = processor.bytes(len) + views[best].latency_ns() as f64;
        let ends_ns = |finish_ns: f64| finish_ns.max(least_ns);
        for other in others {
            taken.push(other);
            let with_ns = common_ns(&taken, len as f64);
            let error_ns = RATE_ERROR * (with_ns - views[other.position].latency_ns() as f64);
            let piece_ns = processor.piece(other.delivered(with_ns));
            if ends_ns(finish_ns) - ends_ns(with_ns) > piece_ns + error_ns {
                finish_ns = with_ns;
            } else {
                taken.pop();
            }
        }
        // Leaves out subchannels that begin to deliver only when the others have delivered all.
        while let Some(at) = taken.iter().position(|line| line.delivered(finish_ns) <= 0.0).filter(|_| taken.len() > 1)
        {
            taken.remove(at);
            finish_ns = common_ns(&taken, len as f64);
        }
        let delivered: f64 = taken.iter().map(|line| line.delivered(finish_ns)).sum();
        let mut shares: ArrayVec<f64, MAX_SUBCHANNELS> = views.iter().map(|_| 0.0).collect();
        taken.iter().for_each(|line| shares[line.position] = line.delivered(finish_ns) * len as f64 / delivered);
        Spread { shares, parts: taken.len() }
    }
}

/// How much later a message arrives over a subchannel that is not the current one, in nanoseconds.
pub fn change_ns(view: &View, is_current: bool) -> f64 {
    if is_current { 0.0 } else { view.processor.piece(0.0) }
}

/// When `lines` together have delivered `len` bytes.
fn common_ns(lines: &[Line], len: f64) -> f64 {
    let (mut rate, mut offset) = (0.0, 0.0);
    for line in lines {
        rate += line.rate;
        offset += line.rate * line.start_ns;
    }
    // By then those that deliver less than their burst have delivered that, from their start on.
    let (mut left, mut least_ns) = (len, f64::NEG_INFINITY);
    let mut bursts = [false; MAX_SUBCHANNELS];
    loop {
        let finish_ns = if rate > 0.0 { ((left + offset) / rate).max(least_ns) } else { least_ns };
        let is_burst =
            |at: &usize| !bursts[*at] && lines[*at].burst > lines[*at].rate * (finish_ns - lines[*at].start_ns);
        let Some(at) = (0..lines.len()).find(is_burst) else { return finish_ns };
        let line = &lines[at];
        bursts[at] = true;
        rate = if bursts[..lines.len()].iter().all(|is_burst| *is_burst) { 0.0 } else { rate - line.rate };
        offset -= line.rate * line.start_ns;
        left = (left - line.burst).max(0.0);
        least_ns = least_ns.max(line.start_ns);
    }
}

impl Line {
    /// The line of a subchannel up to about `at_ns`. Its rate is a window each round trip, where that is less than the path's rate.
    fn of(view: &View, position: usize, at_ns: f64, len: u64) -> Line {
        let queued = view.in_flight as f64;
        let (rate, latency_ns) = (view.rate / 1e9, view.latency_ns() as f64);
        let unlimited = Line { position, start_ns: queued / rate + latency_ns, rate, burst: view.burst as f64 };
        if view.in_flight + len <= view.window {
            return unlimited;
        }
        // A window leaves at once, and a further one each round trip.
        let lasting = view.lasting_rate() / 1e9;
        let start_ns = (queued - view.window as f64) / lasting + latency_ns;
        let limited = Line { position, start_ns, rate: lasting, burst: 0.0 };
        let by = |line: &Line| line.rate * (at_ns - line.start_ns);
        if by(&limited) < by(&unlimited) { limited } else { unlimited }
    }

    /// Moved so that it has delivered `len` bytes at that time.
    fn ending_at(self, at_ns: f64, len: f64) -> Line {
        let takes_ns = if len <= self.burst { 0.0 } else { len / self.rate };
        Line { start_ns: at_ns - takes_ns, ..self }
    }

    /// Bytes that it has delivered at that time.
    fn delivered(&self, at_ns: f64) -> f64 {
        if at_ns < self.start_ns { 0.0 } else { self.burst.max(self.rate * (at_ns - self.start_ns)) }
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
        assert_eq!(Spread::of(1 << 10, &two, Some(0)).parts, 1);
        for len in [16 << 10, 128 << 10, 4 << 20] {
            let spread = Spread::of(len, &two, Some(0));
            let part = spread.shares[0] / len as f64;
            assert!(spread.parts == 2 && (0.5..0.6).contains(&part), "{len}: {part}");
        }
        let fast = views(&[1.25e9, 1.25e9]);
        assert_eq!((Spread::of(16 << 10, &fast, Some(0)).parts, Spread::of(256 << 10, &fast, Some(0)).parts), (1, 2));
        let cost = ProcessorCost { call_ns: 11_000.0, ..ProcessorCost::default() };
        let slow: Vec<View> = fast.iter().map(|view| View { processor: cost, ..*view }).collect();
        let parts = |len| Spread::of(len, &slow, None).parts;
        assert_eq!((parts(32 << 10), parts(64 << 10)), (1, 2), "two calls take 22 us, half of the bytes 13 and 26");
    }

    #[test]
    fn a_rail_that_carries_less_than_the_error_of_its_rate_takes_no_part() {
        for slow in [1.25e5, 1.25e6, 6.25e6] {
            for len in [16 << 10, 1 << 20, 64 << 20] {
                assert_eq!(Spread::of(len, &views(&[125e6, slow]), Some(0)).parts, 1, "{slow}: {len}");
            }
        }
        assert_eq!(Spread::of(1 << 20, &views(&[125e6, 31e6]), Some(0)).parts, 2);
    }

    #[test]
    fn a_message_within_the_burst_is_not_cut_and_owed_bytes_wait() {
        let mut two = views(&[125e6, 31e6]);
        two.iter_mut().for_each(|view| view.burst = 64 << 10);
        assert_eq!(Spread::of(64 << 10, &two, Some(0)).parts, 1);
        let spread = Spread::of(128 << 10, &two, Some(0));
        assert!(spread.parts == 2 && (spread.shares[0] - spread.shares[1]).abs() < 2048.0, "a burst each");
        two[0].in_flight = 64 << 10;
        let spread = Spread::of(32 << 10, &two, Some(0));
        assert!(spread.parts == 1 && spread.shares[0] == 0.0);
    }

    #[test]
    fn queued_bytes_count() {
        let mut two = views(&[125e6, 125e6]);
        two[0].in_flight = 128 << 10;
        let spread = Spread::of(64 << 10, &two, Some(0));
        assert!(spread.parts == 1 && spread.shares[0] == 0.0);
        two[0].in_flight = 32 << 10;
        let spread = Spread::of(128 << 10, &two, Some(0));
        assert!(spread.parts == 2 && spread.shares[1] > spread.shares[0] + 24e3);
    }

    #[test]
    fn the_processor_bounds_how_many_rails_pay() {
        let fast = |byte_ns| -> Vec<View> {
            let processor = ProcessorCost { byte_ns, ..ProcessorCost::default() };
            views(&[5e9, 5e9]).into_iter().map(|view| View { processor, ..view }).collect()
        };
        assert_eq!(
            (Spread::of(1 << 20, &fast(0.05), Some(0)).parts, Spread::of(1 << 20, &fast(0.2), Some(0)).parts),
            (2, 1)
        );
    }

    proptest! {
        #[test]
        fn shares_are_all_bytes(
            rails in prop::collection::vec((1e3f64..1e10, 0u64..1 << 24, 0u64..1 << 27, 1u64..1 << 24, 0u64..1 << 16), 1..8),
            len in 1u64..1 << 30,
        ) {
            let view = |(rate, in_flight, delay_ns, window, burst): &(f64, u64, u64, u64, u64)| {
                let (in_flight, window, delay_ns, burst) = (*in_flight, *window, *delay_ns, *burst);
                View { in_flight, window, delay_ns, burst, ..View::idle(*rate) }
            };
            let views: Vec<View> = rails.iter().map(view).collect();
            let spread = Spread::of(len, &views, Some(0));
            let sum: f64 = spread.shares.iter().sum();
            prop_assert!((sum / len as f64 - 1.0).abs() < 1e-6, "{sum}");
        }
    }
}
