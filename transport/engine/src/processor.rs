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
    /// How much later a message arrives for one more piece, in nanoseconds: one end makes a call to send it, then the other one to
    /// receive it. Its acknowledgement is on the way while the message goes on, or in the answer.
    pub fn call(&self) -> f64 {
        self.call_ns.into()
    }

    /// Time that one end takes for `len` bytes beside its calls, in nanoseconds.
    pub fn bytes(&self, len: u64) -> f64 {
        len as f64 * f64::from(self.byte_ns)
    }
}
