//! Processor time of frames at both ends, beside their time on the wire.

/// Processor time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorCost {
    /// Of the two system calls for a piece: one end sends it, the other one receives it.
    pub call_ns: f32,
    /// Of each byte, at one end.
    pub byte_ns: f32,
}

impl Default for ProcessorCost {
    /// Until it is measured: a processor of 2.5 GHz under Linux 6, over TCP.
    fn default() -> Self {
        ProcessorCost { call_ns: 6_000.0, byte_ns: 0.25 }
    }
}

impl ProcessorCost {
    /// How much later a message arrives for one more piece of `len` bytes, in nanoseconds: each end makes a call for the piece, and
    /// one for its acknowledgement. But the other pieces are received while this one is sent.
    pub fn piece(&self, len: f64) -> f64 {
        (2.0 * f64::from(self.call_ns) - len * f64::from(self.byte_ns)).max(0.0)
    }

    /// Time that one end takes for `len` bytes beside its calls, in nanoseconds.
    pub fn bytes(&self, len: u64) -> f64 {
        len as f64 * f64::from(self.byte_ns)
    }
}
