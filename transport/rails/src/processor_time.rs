//! Measures the processor time of sending and receiving: of a system call, and of each byte.

use fishplate_engine::ProcessorCost;

/// One of this number of calls is timed. A prime: each call of a repeated pattern has its turn.
const TIMED_EACH: u32 = 17;
/// Not if it carries less than the longest of these calls divided by this: a short call beside long ones, as for an
/// acknowledgement, does the kernel's work for these too.
const MIN_PART: u64 = 8;
/// Weight of a measurement.
const WEIGHT: f32 = 1.0 / 16.0;
/// A measurement counts as at most the expected time times this, as the process may have been descheduled.
const MAX_FACTOR: f32 = 4.0;

/// Cost of the calls of one direction, in nanoseconds: a call of n bytes takes `call_ns` + n `byte_ns`.
#[derive(Clone, Copy, Debug)]
pub struct CallCost {
    call_ns: f32,
    byte_ns: f32,
}

impl CallCost {
    /// Assumed costs, until they are measured.
    pub fn new() -> CallCost {
        let ProcessorCost { call_ns, byte_ns } = ProcessorCost::default();
        CallCost { call_ns: call_ns / 2.0, byte_ns }
    }

    /// One call has carried `bytes` and took `ns`. The error of the expected time is divided between its two parts by their
    /// squares (normalized least mean squares): short calls show the first, long ones the second.
    pub fn sample(&mut self, bytes: u64, ns: u64) {
        let bytes = bytes as f32;
        let of_bytes_ns = bytes * self.byte_ns;
        let expected_ns = self.call_ns + of_bytes_ns;
        let error_ns = (ns as f32).min(expected_ns * MAX_FACTOR) - expected_ns;
        let scale = WEIGHT * error_ns / (self.call_ns * self.call_ns + of_bytes_ns * of_bytes_ns);
        self.call_ns += scale * self.call_ns * self.call_ns;
        self.byte_ns += scale * of_bytes_ns * self.byte_ns;
    }
}

/// Costs of both directions.
#[derive(Debug)]
pub struct ProcessorTime {
    /// Sending.
    pub send: CallCost,
    /// Receiving.
    pub receive: CallCost,
    reported: ProcessorCost,
    /// Calls since the last one that was timed, and the longest of them, in bytes.
    calls: u32,
    longest: u64,
}

impl ProcessorTime {
    pub fn new() -> ProcessorTime {
        ProcessorTime {
            send: CallCost::new(),
            receive: CallCost::new(),
            reported: ProcessorCost::default(),
            calls: 0,
            longest: 0,
        }
    }

    /// Whether a call that is likely to carry `bytes` is to be timed.
    #[inline]
    pub fn wants(&mut self, bytes: u64) -> bool {
        self.calls += 1;
        self.longest = self.longest.max(bytes);
        if self.calls < TIMED_EACH {
            return false;
        }
        let is_timed = bytes >= self.longest / MIN_PART;
        (self.calls, self.longest) = (0, 0);
        is_timed
    }

    /// The cost, if it differs clearly from the last one returned: of a call, the sum of both directions, as one end sends a piece
    /// and the other one receives it; of a byte, the greater of both. `parallel`: payloads that are copied at a time.
    pub fn news(&mut self, parallel: usize) -> Option<ProcessorCost> {
        let call_ns = self.send.call_ns + self.receive.call_ns;
        let byte_ns = self.send.byte_ns.max(self.receive.byte_ns) / parallel as f32;
        let now = ProcessorCost { call_ns, byte_ns };
        let is_near = |a: f32, b: f32| (a - b).abs() <= b / 16.0;
        if is_near(now.call_ns, self.reported.call_ns) && is_near(now.byte_ns, self.reported.byte_ns) {
            return None;
        }
        self.reported = now;
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_calls_show_the_call_and_long_ones_the_bytes() {
        let mut time = ProcessorTime::new();
        for _ in 0..1000 {
            time.send.sample(100, 5_000);
            time.send.sample(100_000, 25_000);
            time.receive.sample(100, 1_000);
            time.receive.sample(100_000, 11_000);
        }
        let cost = time.news(1).unwrap();
        assert!((cost.call_ns - 6_000.0).abs() < 100.0 && (cost.byte_ns - 0.2).abs() < 0.01, "{cost:?}");
        assert_eq!(time.news(1), None);
        assert!((time.news(4).unwrap().byte_ns - 0.05).abs() < 0.01, "four are moved at a time");
    }

    #[test]
    fn a_processor_that_is_slower_shows_in_calls_of_one_length() {
        let mut cost = CallCost::new();
        (0..1000).for_each(|_| cost.sample(8192, 10_000));
        let took_ns = cost.call_ns + 8192.0 * cost.byte_ns;
        assert!((took_ns - 10_000.0).abs() < 100.0 && cost.call_ns > 5_000.0, "{cost:?}");
    }

    #[test]
    fn a_process_that_did_not_run_for_a_while_does_not_make_calls_expensive() {
        let mut cost = CallCost::new();
        (0..1000).for_each(|_| cost.sample(100, 4_000));
        cost.sample(100, 10_000_000);
        assert!(cost.call_ns < 5_000.0);
        (0..1000).for_each(|_| cost.sample(100, 8_000));
        assert!(cost.call_ns > 7_900.0, "but it may become so");
    }

    #[test]
    fn costs_stay_above_zero_whatever_calls_take() {
        let mut cost = CallCost::new();
        (0..10_000u64).for_each(|at| cost.sample(at % 7 * 20_000, at % 3));
        assert!(cost.call_ns > 0.0 && cost.byte_ns > 0.0, "{cost:?}");
    }

    #[test]
    fn few_calls_are_timed_and_no_short_ones_beside_long_ones() {
        let mut time = ProcessorTime::new();
        assert_eq!((0..170).filter(|_| time.wants(8)).count(), 10);
        let mut timed = [0, 0];
        for _ in 0..170 {
            [64 << 10, 64]
                .into_iter()
                .zip(&mut timed)
                .for_each(|(bytes, timed)| *timed += u32::from(time.wants(bytes)));
        }
        assert_eq!(timed, [10, 0]);
    }
}
