//! Noise of the operating system: what takes a process's core from it now and then, such as interrupts, other programs,
//! and the host of a virtual machine.
//!
//! Without noise, equal processes would stay in step for ever. Real ones do not: much waiting of programs begins with
//! one process that is a little late.

use crate::events::Random;
use crate::models::time::Time;

/// Ratio of median to mean of an exponential distribution: ln 2.
const HALF: f64 = std::f64::consts::LN_2;

/// Interruptions of one core, at random.
#[derive(Clone, Debug)]
pub struct OsNoise {
    random: Random,
    /// Mean interval from the end of one to the next, and mean duration; 0: no interruptions.
    mean: (Time, Time),
    next: Time,
    length: Time,
}

impl OsNoise {
    /// Noise with this mean interval and mean duration.
    pub fn new(random: Random, mean: (Time, Time)) -> OsNoise {
        let mut noise = OsNoise { random, mean, next: Time::default(), length: Time::default() };
        noise.draw(Time::default());
        noise
    }

    /// When a core that is free at `from` can begin something.
    pub fn pass(&mut self, from: Time) -> Time {
        let mut free = from;
        while self.mean.1 > Time::default() && self.next <= free {
            let end = self.next + self.length;
            free = free.later(end);
            self.draw(end);
        }
        free
    }

    fn draw(&mut self, from: Time) {
        self.next = from + self.memoryless(self.mean.0);
        self.length = self.memoryless(self.mean.1);
    }

    /// A sample of a memoryless distribution: a geometric number of half-lives, uniform within the last one. It needs
    /// no logarithm, which machines round differently.
    fn memoryless(&mut self, mean: Time) -> Time {
        let steps = f64::from(self.random.any().leading_zeros());
        let within = self.random.below(1 << 32) as f64 / (1u64 << 32) as f64;
        Time((mean.0 as f64 * HALF * (steps + within)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_take_the_share_of_the_time_that_they_are_to_take() {
        let mean = (Time::ns(4e6), Time::ns(30e3));
        let mut noise = OsNoise::new(Random::stream(1, "test"), mean);
        let (mut now, mut late, mut most) = (Time::default(), Time::default(), Time::default());
        while now < Time::ms(20_000) {
            // Something short, all the time.
            let free = noise.pass(now);
            (late, most) = (late + (free - now), most.later(free - now));
            now = free + Time::ns(1e3);
        }
        let share = late.as_ns() / now.as_ns();
        assert!((0.006..0.009).contains(&share), "{share}");
        assert!(most > Time::ns(150e3), "{most:?}");
    }

    #[test]
    fn where_there_are_none_nothing_is_late() {
        let mut noise = OsNoise::new(Random::stream(1, "test"), (Time::default(), Time::default()));
        assert_eq!(noise.pass(Time::ms(1000)), Time::ms(1000));
    }
}
