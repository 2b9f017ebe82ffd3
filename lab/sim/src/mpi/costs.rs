//! Processor time of an MPI library's code.

use fishplate_engine::wire::Body;

use crate::models::time::Time;

/// Times of a process's core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A call that posts something.
    pub call: Time,
    /// A system call that sends: all data passed to it at one time takes one call.
    pub transmit: Time,
    /// A system call that receives: all data that arrived while the core was busy takes one call.
    pub fetch: Time,
    /// A byte that a system call sends, in picoseconds: copied, and taken through the protocol.
    pub send_byte_ps: f64,
    /// A received byte, in picoseconds.
    pub receive_byte_ps: f64,
    /// Interruptions of the process: mean interval and mean duration.
    pub noise: (Time, Time),
    /// After this number of consecutive sends without a poll of the network, frames are held back until the next poll,
    /// and are sent together.
    pub burst: Option<u32>,
    /// To hand a message over that goes with its data.
    pub eager_send: Time,
    /// To find such a message and match it.
    pub eager_receive: Time,
    /// Copying of a byte on each side, in picoseconds; 0 without copying.
    pub copy_byte_ps: f64,
    /// Copying of a byte of a rank's own part of an all-to-all exchange, which no cache holds, in picoseconds.
    pub own_byte_ps: f64,
    /// To hand a control message of a rendezvous over, or to handle one.
    pub control: Time,
    /// To hand a piece of a long message, or a one-sided operation, over.
    pub rdma_send: Time,
    /// To find out that a piece of a long message is there.
    pub rdma_receive: Time,
    /// To arrange memory for a long message, on each side: registration, or a lookup in its cache.
    pub register: Time,
    /// To take notice of the other side in a one-sided epoch.
    pub synchronise: Time,
    /// Time of the peer's adapter, or of a thread there, to answer a read.
    pub read: Time,
    /// Reads that may be under way at a time.
    pub reads_in_flight: u32,
    /// Longest one-sided write that is a message to the target's process, in bytes; longer ones are the adapters'
    /// business.
    pub put_by_message: u64,
    /// Longest one-sided read that the target's process answers; it reads longer ones' memory by adapter.
    pub get_by_message: u64,
    /// To add what an accumulate brings, or to apply an atomic operation.
    pub accumulate: Time,
}

impl Costs {
    /// Of handing a frame over.
    pub fn send_cost(&self, body: &Body) -> Time {
        match body {
            Body::Eager { len, .. } | Body::EarlyData { len, .. } => self.eager_send + self.copy(u64::from(*len)),
            Body::RequestToSend { .. } | Body::ClearToSend { .. } => self.control + self.register,
            Body::Refused { .. } => self.control,
            Body::Atomic { .. } => self.eager_send,
            Body::Stripe { .. } | Body::Write { .. } | Body::Read { .. } => self.rdma_send,
            _ => Time::default(),
        }
    }

    /// Cost of a received frame. Reads and writes are handled by the adapter.
    pub fn receive_cost(&self, body: &Body) -> Time {
        match body {
            Body::Eager { len, .. } | Body::EarlyData { len, .. } => self.eager_receive + self.copy(u64::from(*len)),
            Body::RequestToSend { .. } | Body::ClearToSend { .. } | Body::Refused { .. } => self.control,
            Body::Atomic { .. } => self.eager_receive + self.accumulate,
            Body::Stripe { .. } => self.rdma_receive,
            _ => Time::default(),
        }
    }

    /// Whether chance plays a part.
    pub fn varies(&self) -> bool {
        self.noise.1 > Time::default()
    }

    /// Whether frames that are handed over together leave with one system call.
    pub fn is_batched(&self) -> bool {
        self.transmit > Time::default() || self.burst.is_some()
    }

    /// Cost of copying `bytes` bytes.
    pub fn copy(&self, len: u64) -> Time {
        of_bytes(self.copy_byte_ps, len)
    }

    /// Cost of copying the `len` bytes that a rank has for itself in an all-to-all exchange.
    pub fn own_part(&self, len: u64) -> Time {
        of_bytes(self.own_byte_ps, len)
    }

    /// Cost of `bytes` bytes in a system call that sends, without the call itself.
    pub fn send_bytes(&self, len: u64) -> Time {
        of_bytes(self.send_byte_ps, len)
    }

    /// Cost of `bytes` bytes in a system call that receives, without the call itself.
    pub fn receive_bytes(&self, len: u64) -> Time {
        of_bytes(self.receive_byte_ps, len)
    }
}

fn of_bytes(byte_ps: f64, len: u64) -> Time {
    Time((byte_ps * len as f64).round() as u64)
}
