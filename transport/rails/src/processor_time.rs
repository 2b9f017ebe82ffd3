//! Measures the processor time of sending and receiving: of a system call, and of each byte.

use fishplate_engine::ProcessorCost;

/// Calls with at most [`SHORT`] bytes show the time of a call, calls with at least [`LONG`] that of a byte.
const SHORT: u64 = 2 << 10;
const LONG: u64 = 16 << 10;
/// One of this number of short calls is timed.
const SHORT_EACH: u32 = 16;
/// Weight of a call's measurement.
const CALL_WEIGHT: f32 = 1.0 / 16.0;
/// Weights of a byte's measurement above the estimate, and below: low above it, as a long call may have waited for the kernel.
const BYTE_WEIGHTS: [f32; 2] = [1.0 / 32.0, 1.0 / 4.0];
/// A measurement counts as at most the estimate times this, as the process may have been descheduled.
const MAX_FACTOR: f32 = 4.0;

/// Cost of the calls of one direction, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct CallCost {
    call_ns: f32,
    byte_ns: f32,
    short_calls: u32,
}

impl CallCost {
    /// Assumed costs, until they are measured.
    pub fn new() -> CallCost {
        let ProcessorCost { call_ns, byte_ns } = ProcessorCost::default();
        CallCost { call_ns: call_ns / 2.0, byte_ns, short_calls: 0 }
    }

    /// Whether a call that is likely to carry `bytes` is to be timed.
    #[inline]
    pub fn wants(&mut self, bytes: u64) -> bool {
        if bytes >= LONG {
            return true;
        }
        self.short_calls = self.short_calls.wrapping_add(1);
        self.short_calls.is_multiple_of(SHORT_EACH)
    }

    /// One call has carried `bytes` and took `ns`.
    pub fn sample(&mut self, bytes: u64, ns: u64) {
        let (known, shown, weights) = if bytes <= SHORT {
            (&mut self.call_ns, ns as f32, [CALL_WEIGHT; 2])
        } else if bytes >= LONG {
            let rest_ns = ns as f32 - self.call_ns;
            // The kernel has only copied the bytes: the window was full.
            if rest_ns <= 0.0 {
                return;
            }
            (&mut self.byte_ns, rest_ns / bytes as f32, BYTE_WEIGHTS)
        } else {
            return;
        };
        let weight = weights[usize::from(shown < *known)];
        *known += (shown.min(*known * MAX_FACTOR) - *known) * weight;
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
}

impl ProcessorTime {
    pub fn new() -> ProcessorTime {
        ProcessorTime { send: CallCost::new(), receive: CallCost::new(), reported: ProcessorCost::default() }
    }

    /// The cost of a call, the sum of both directions, and of a byte at the busier end, if it differs clearly from the last one returned. One end sends the bytes and the other receives
    /// them; both send and receive for each piece, because of its acknowledgement. `parallel`: payloads that are copied at a time.
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
    fn a_process_that_did_not_run_for_a_while_does_not_make_calls_expensive() {
        let mut cost = CallCost::new();
        (0..1000).for_each(|_| cost.sample(100, 4_000));
        cost.sample(100, 10_000_000);
        assert!(cost.call_ns < 5_000.0);
        (0..1000).for_each(|_| cost.sample(100, 8_000));
        assert!(cost.call_ns > 7_900.0, "but it may become so");
    }

    #[test]
    fn long_calls_that_are_shorter_than_a_call_say_nothing_of_the_bytes() {
        let mut cost = CallCost::new();
        (0..1000).for_each(|_| cost.sample(100, 10_000));
        (0..1000).for_each(|_| cost.sample(20_000, 6_000));
        assert_eq!(cost.byte_ns, ProcessorCost::default().byte_ns);
    }

    #[test]
    fn few_short_calls_are_timed_and_all_long_ones() {
        let mut cost = CallCost::new();
        assert_eq!((0..160).filter(|_| cost.wants(8)).count(), 10);
        assert_eq!((0..160).filter(|_| cost.wants(LONG)).count(), 160);
    }
}
