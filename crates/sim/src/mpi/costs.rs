//! What an MPI library's own code costs its process.

use fishplate_engine::wire::Body;

use crate::models::time::Time;

/// Times of a process's core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A call that posts something.
    pub call: Time,
    /// A system call that sends: what is handed over at a time goes out with one.
    pub transmit: Time,
    /// A system call that finds something to receive: what has come while the core was busy is taken in with it.
    pub fetch: Time,
    /// A byte that a system call sends, in picoseconds: copied, and taken through the protocol.
    pub send_byte_ps: f64,
    /// The same of a byte that is received.
    pub receive_byte_ps: f64,
    /// What takes the core from the process: how far apart, and how long, in the mean.
    pub noise: (Time, Time),
    /// From so many sends in a row on, without a look at the network, frames are held back until there is one, and go out
    /// together.
    pub burst: Option<u32>,
    /// To hand a message over that goes with its data.
    pub eager_send: Time,
    /// To find such a message and match it.
    pub eager_receive: Time,
    /// To copy a byte of it on each side, in picoseconds; 0 where nothing is copied.
    pub copy_byte_ps: f64,
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
    /// What the other side's adapter, or a thread there, takes to answer a read.
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

    /// Of a frame that has come. Reads and writes are the adapter's business.
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

    /// Of copying so many bytes.
    pub fn copy(&self, len: u64) -> Time {
        of_bytes(self.copy_byte_ps, len)
    }

    /// Of so many bytes in a system call that sends, beside the call.
    pub fn send_bytes(&self, len: u64) -> Time {
        of_bytes(self.send_byte_ps, len)
    }

    /// Of so many bytes in a system call that receives, beside the call.
    pub fn receive_bytes(&self, len: u64) -> Time {
        of_bytes(self.receive_byte_ps, len)
    }
}

fn of_bytes(byte_ps: f64, len: u64) -> Time {
    Time((byte_ps * len as f64).round() as u64)
}
