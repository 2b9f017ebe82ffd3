//! For how long other processes had the processor of this one.

use fishplate_engine::Instant;

/// Time without the processor, between two looks. A process that computes has it.
#[derive(Debug, Default)]
pub struct Absence {
    /// The last look, and the processor time until then.
    before: Option<(Instant, u64)>,
}

impl Absence {
    /// Nanoseconds without the processor since the last look; 0 at the first one. `taken_ns`: processor time until now.
    pub fn observe(&mut self, now: Instant, taken_ns: u64) -> u64 {
        let before = self.before.replace((now, taken_ns));
        before.map_or(0, |(at, taken)| now.since_ns(at).saturating_sub(taken_ns.saturating_sub(taken)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_this_process_is_no_absence() {
        let mut absence = Absence::default();
        assert_eq!(absence.observe(Instant(5), 100), 0, "nothing was seen before");
        assert_eq!(absence.observe(Instant(1005), 1100), 0, "it has computed");
        assert_eq!(absence.observe(Instant(9005), 2100), 7000);
        assert_eq!(absence.observe(Instant(9105), 2600), 0, "with several threads");
    }
}
