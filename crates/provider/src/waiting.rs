//! How a rank waits on a processor that it shares with others.
//!
//! To a rank that polls as well, a yield takes a microsecond. To one that computes it takes milliseconds, until the kernel's
//! next tick or more, and whatever arrives does not shorten that. Who sleeps in the kernel is woken by what arrives, but that
//! costs whoever sends, and takes some ten microseconds. Which is better shows in how long waits take: yields are used
//! until others compute in them for longer, in the mean, than being woken would take. Then sleep is; and while waits are so short that waking may be
//! most of them, yields are tried now and then, each time later, where they have proven bad.

use std::time::{Duration, Instant};

/// A few times what falling asleep and being woken takes, both sides together.
const WAKING: Duration = Duration::from_micros(100);
/// A yield that takes so long let somebody compute: of ranks that poll, even a dozen have had their turn by then.
const COMPUTED: Duration = Duration::from_micros(250);
/// Waits by yields that the mean is taken over: a processor that others need for some milliseconds now and then should not
/// end yields that are short otherwise.
const YIELDS: u32 = 64;
/// The same of waits asleep.
const SLEEPS: u32 = 16;
/// Yields are tried after so long for the first time,
const FIRST_TRIAL: Duration = Duration::from_millis(20);
/// and at least so often.
const LAST_TRIAL: Duration = Duration::from_secs(2);
/// The shortest time asleep: what is not woken by what arrives, as the MPI library brings it by itself, is noticed then.
const SHORTEST: Duration = Duration::from_micros(50);
/// The longest.
const LONGEST: Duration = Duration::from_micros(200);

/// What is known of a rank's waits.
#[derive(Default)]
pub struct Waiting {
    /// The present one: when it began, and until when it has lasted.
    present: Option<(Instant, Instant)>,
    /// For how long others have computed in it.
    computed: Duration,
    sleeps: bool,
    /// How long waits take asleep, or how long others compute in them.
    mean: Duration,
    /// When the present means came into use.
    changed_at: Option<Instant>,
    /// Time from the beginning of sleep to a trial of yields.
    trial_after: Duration,
}

impl Waiting {
    /// How long to sleep at most if the present wait goes on by sleep.
    pub fn next_sleep(&self, now: Instant) -> Duration {
        self.present.map_or(SHORTEST, |(since, _)| (now - since).clamp(SHORTEST, LONGEST))
    }

    /// A yield, or sleep, has taken from `start` to `end`.
    pub fn waited(&mut self, start: Instant, end: Instant) {
        let since = self.present.map_or(start, |(since, _)| since);
        self.present = Some((since, end));
        if end - start >= COMPUTED {
            self.computed += end - start;
        }
    }

    /// Something has come. True if the next wait goes on by sleep.
    pub fn end(&mut self) -> bool {
        let Some((since, now)) = self.present.take() else { return self.sleeps };
        let computed = std::mem::take(&mut self.computed);
        let (took, over) = if self.sleeps { (now - since, SLEEPS) } else { (computed, YIELDS) };
        self.mean = self.mean * (over - 1) / over + took / over;
        let in_use = now - *self.changed_at.get_or_insert(now);
        if !self.sleeps && self.mean > WAKING {
            let was_good = in_use >= LAST_TRIAL || self.trial_after.is_zero();
            self.trial_after = if was_good { FIRST_TRIAL } else { (2 * self.trial_after).min(LAST_TRIAL) };
            self.change(now);
        } else if self.sleeps && self.mean < 2 * WAKING && in_use >= self.trial_after {
            self.change(now);
        }
        self.sleeps
    }

    fn change(&mut self, now: Instant) {
        self.sleeps = !self.sleeps;
        // Sleep is expected to be worth it until it has shown itself.
        self.mean = if self.sleeps { 2 * WAKING } else { Duration::ZERO };
        self.changed_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits of such lengths. How many of them were asleep.
    fn run(waiting: &mut Waiting, now: &mut Instant, count: u32, by_yields: Duration, asleep: Duration) -> u32 {
        let mut sleeps = |_| {
            let start = *now;
            let sleeps = waiting.sleeps;
            *now += if sleeps { asleep } else { by_yields };
            waiting.waited(start, *now);
            waiting.end();
            u32::from(sleeps)
        };
        (0..count).map(&mut sleeps).sum()
    }

    const SHORT: Duration = Duration::from_micros(3);
    const LONG: Duration = Duration::from_millis(8);
    const WOKEN: Duration = Duration::from_micros(40);

    #[test]
    fn short_waits_are_yields_even_if_others_compute_now_and_then() {
        let (mut waiting, mut now) = (Waiting::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(run(&mut waiting, &mut now, 300, SHORT, WOKEN), 0);
            assert_eq!(run(&mut waiting, &mut now, 1, LONG / 2, WOKEN), 0);
        }
    }

    #[test]
    fn many_that_poll_do_not_compute() {
        let (mut waiting, mut now) = (Waiting::default(), Instant::now());
        for _ in 0..1000 {
            (0..20).for_each(|at| waiting.waited(now + at * COMPUTED / 2, now + (at + 1) * COMPUTED / 2));
            now += 10 * COMPUTED;
            assert!(!waiting.end());
        }
    }

    #[test]
    fn whoever_waits_for_others_that_compute_sleeps_and_tries_yields_rarely() {
        let (mut waiting, mut now) = (Waiting::default(), Instant::now());
        let asleep = run(&mut waiting, &mut now, 200_000, LONG, WOKEN);
        assert!((199_900..199_995).contains(&asleep), "{asleep}");
        // They do not any more.
        run(&mut waiting, &mut now, 100_000, SHORT, WOKEN);
        assert_eq!(run(&mut waiting, &mut now, 1000, SHORT, WOKEN), 0);
    }

    #[test]
    fn long_waits_stay_asleep() {
        let (mut waiting, mut now) = (Waiting::default(), Instant::now());
        let asleep = run(&mut waiting, &mut now, 1000, LONG, LONG);
        assert!(asleep >= 998, "{asleep}");
        assert_eq!(waiting.next_sleep(now), SHORTEST);
        waiting.waited(now, now + SHORTEST);
        assert_eq!(waiting.next_sleep(now + Duration::from_micros(120)), Duration::from_micros(120));
        assert_eq!(waiting.next_sleep(now + LONG), LONGEST);
    }
}
