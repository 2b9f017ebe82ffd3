//! What a policy sees of the subchannels.

use arrayvec::ArrayVec;

use crate::limits::MAX_SUBCHANNELS;

/// The slowest subchannels are negligible if they carry less than this part of all that is carried, together: they would
/// not be missed, and each mistake about one costs as long as it is slow.
const NEGLIGIBLE_PART: f64 = 1.0 / 16.0;

/// A small message leaves the subchannel of the one before only if it arrives so much earlier elsewhere: changing
/// over costs system calls on both sides and puts messages out of order. A window of 64 messages of 64 bytes, which
/// takes 60 us at 1 Gbit/s, is faster over one rail than over two.
pub const WORTH_CHANGING_NS: f64 = 100_000.0;

/// What counts as so much farther away, in nanoseconds, is the last resort: nothing goes over it that another could take.
pub const LAST_RESORT_NS: u64 = 1_000_000_000;

/// What is known of one subchannel.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Position of its rail in the user's list; weights are given in that order.
    pub rail: u8,
    /// Subchannels of its rail that are up: they share what the rail is given.
    pub streams: u8,
    /// It can take a frame now.
    pub open: bool,
    /// Bytes handed to it and not acknowledged.
    pub in_flight: u64,
    /// What its rail is said to carry, in bytes per second; above zero, and always the same.
    pub speed: f64,
    /// Estimated rate, in bytes per second; above zero.
    pub rate: f64,
    /// Estimated one-way delay, in nanoseconds.
    pub delay_ns: u64,
    /// How much later than rate and delay say frames arrive in the mean, in nanoseconds.
    pub late_ns: u64,
    /// Bytes that may be in flight at a time; what exceeds it waits for a round trip.
    pub window: u64,
    /// It drains faster than it is fed: the processor is the limit, not the path.
    pub is_host_limited: bool,
    /// What the peer sent last has come over it.
    pub is_last_received: bool,
}

/// All subchannels of a virtual channel that are up; a policy answers with a position in this list.
pub type Views = ArrayVec<View, MAX_SUBCHANNELS>;

/// Makes negligible ones a last resort, unless they are so much nearer than all others that short messages would miss them.
pub fn deprioritize_negligible(views: &mut Views) {
    let all: f64 = views.iter().map(|view| view.rate).sum();
    // The usual case.
    if views.iter().all(|view| view.rate >= all * NEGLIGIBLE_PART) {
        return;
    }
    let is_negligible = |view: &View| {
        let slowest: f64 = views.iter().map(|other| other.rate).filter(|rate| *rate <= view.rate).sum();
        slowest < all * NEGLIGIBLE_PART
    };
    let negligible: ArrayVec<bool, MAX_SUBCHANNELS> = views.iter().map(is_negligible).collect();
    let others = views.iter().zip(&negligible).filter(|(_, is_negligible)| !**is_negligible);
    let nearest_ns = others.map(|(view, _)| view.delay_ns).min().unwrap_or(0);
    let put_off = |(view, is_negligible): &(&mut View, bool)| {
        *is_negligible && view.delay_ns + WORTH_CHANGING_NS as u64 > nearest_ns
    };
    views.iter_mut().zip(negligible).filter(put_off).for_each(|(view, _)| view.delay_ns += LAST_RESORT_NS);
}

impl View {
    /// Expected one-way delay with lateness, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.delay_ns + self.late_ns
    }

    /// When `len` more bytes would have arrived, in nanoseconds from now.
    pub fn finish_ns(&self, len: u64) -> f64 {
        let bytes = self.in_flight + len;
        let leaves_ns = bytes as f64 / self.rate * 1e9;
        if bytes <= self.window {
            return leaves_ns + self.latency_ns() as f64;
        }
        let waits_ns = ((bytes - 1) / self.window) as f64 * 2.0 * self.delay_ns as f64;
        leaves_ns.max(waits_ns) + self.latency_ns() as f64
    }

    /// What it carries in the long run, in bytes per second: no more than a window each round trip.
    pub fn lasting_rate(&self) -> f64 {
        let round_trip_ns = 2.0 * self.delay_ns as f64;
        self.rate.min(self.window as f64 * 1e9 / round_trip_ns.max(1.0))
    }

    /// Its part of its rail's weight: the one in `weights`, or the rail's speed where the list does not say. (Not the rate:
    /// a rail that got little of late would be taken for a slow one, and get less.)
    pub fn weight(&self, weights: &[u32]) -> f64 {
        self.part_of(weights.get(usize::from(self.rail)).map_or(self.speed, |weight| f64::from(*weight)))
    }

    /// Its part of what its rail is given.
    pub fn part_of(&self, rail: f64) -> f64 {
        rail / f64::from(self.streams.max(1))
    }
}

/// When the subchannels other than `without` would have delivered `len` more bytes between them, in nanoseconds
/// from now; infinite when there is no other.
pub fn finish_without_ns(views: &[View], without: usize, len: u64) -> f64 {
    let (mut rate, mut lasting_rate, mut windows) = (0.0, 0.0, 0.0);
    let mut bytes = len as f64;
    let mut latency_ns = u64::MAX;
    for (_, view) in views.iter().enumerate().filter(|(position, _)| *position != without) {
        rate += view.rate;
        lasting_rate += view.lasting_rate();
        windows += view.window as f64;
        bytes += view.in_flight as f64;
        latency_ns = latency_ns.min(view.latency_ns());
    }
    if rate == 0.0 {
        return f64::INFINITY;
    }
    // What fits into the windows leaves at once.
    (bytes / rate).max((bytes - windows) / lasting_rate) * 1e9 + latency_ns as f64
}

#[cfg(test)]
impl View {
    /// Of a rail of this rate, in bytes per second, without delay, over which nothing is under way.
    pub fn idle(rate: f64) -> View {
        View {
            rail: 0,
            streams: 1,
            open: true,
            in_flight: 0,
            speed: rate,
            rate,
            delay_ns: 0,
            late_ns: 0,
            window: u64::MAX,
            is_host_limited: false,
            is_last_received: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate, in bytes per second, and a delay, in nanoseconds.
    fn view((rate, delay_ns): (f64, u64)) -> View {
        View { delay_ns, ..View::idle(rate) }
    }

    /// Which of these rates and delays are put off.
    fn put_off(rails: &[(f64, u64)]) -> Vec<bool> {
        let mut views: Views = rails.iter().copied().map(view).collect();
        deprioritize_negligible(&mut views);
        views.iter().zip(rails).map(|(view, (_, delay_ns))| view.delay_ns > *delay_ns).collect()
    }

    #[test]
    fn the_slowest_are_put_off_as_long_as_they_carry_next_to_nothing_together() {
        let near = |rates: &[f64]| put_off(&rates.iter().map(|rate| (*rate, 5_000)).collect::<Vec<_>>());
        assert_eq!(near(&[125e6, 31e6]), [false, false]);
        assert_eq!(near(&[1e6, 125e6]), [true, false]);
        assert_eq!(near(&[60e6, 25e6, 12e6, 2e6, 1e6, 1e5]), [false, false, false, true, true, true]);
        assert_eq!(near(&[125e6, 6e6, 6e6, 6e6]), [false; 4], "together they carry");
        assert_eq!(near(&[1e6]), [false]);
    }

    #[test]
    fn one_that_is_much_nearer_is_kept_for_short_messages() {
        assert_eq!(put_off(&[(1e6, 100_000), (125e6, 20_000_000)]), [false, false]);
        assert_eq!(put_off(&[(1e6, 4_000), (125e6, 20_000)]), [true, false]);
    }
}
