//! Processor time of frames at both ends, beside their time on the wire.

/// Processor time at one end, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorCost {
    /// Of the system calls for a piece: one sends it or its acknowledgement, the other receives the other.
    pub call_ns: f32,
    /// Of each byte.
    pub byte_ns: f32,
}

impl Default for ProcessorCost {
    /// Until it is measured: a processor of 2.5 GHz under Linux 6, over TCP.
    fn default() -> Self {
        ProcessorCost { call_ns: 6_000.0, byte_ns: 0.25 }
    }
}

impl ProcessorCost {
    /// How much later a message arrives for one more piece over the same subchannel, in nanoseconds.
    pub fn call(&self) -> f64 {
        self.call_ns.into()
    }

    /// How much later it arrives for one more subchannel, in nanoseconds: both ends make calls for it, one after the other.
    pub fn piece(&self) -> f64 {
        2.0 * self.call()
    }

    /// Time that one end takes for `len` bytes beside its calls, in nanoseconds.
    pub fn bytes(&self, len: u64) -> f64 {
        len as f64 * f64::from(self.byte_ns)
    }
}
