//! A long transfer of a stream, in one direction, for a thread that carries it out in the place of the endpoint's.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use super::Filled;
use super::receive::ReceiveState;
use super::transmit::TransmitQueue;
use crate::sys::memory::UserMemory;
use crate::transfer::{Lease, Threads, Transfer};

/// One direction of a stream, with its queue or state, which is lent.
pub enum StreamTransfer {
    /// True once everything is sent; false when the socket takes no more.
    Send(Common, TransmitQueue, io::Result<bool>),
    /// How the last read of a payload ended.
    Receive(Common, ReceiveState, io::Result<Filled>),
}

/// What both have.
pub struct Common {
    socket: Arc<TcpStream>,
    memory: UserMemory,
    moved: Moved,
}

/// What a thread has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// How much, in bytes.
    pub bytes: u64,
    /// How long that took, in nanoseconds.
    pub took_ns: u64,
    /// No thread had begun with it in time.
    pub was_late: bool,
}

impl Transfer for StreamTransfer {
    fn carry_out(&mut self) {
        let started = Instant::now();
        let (common, bytes) = match self {
            StreamTransfer::Send(common, queue, outcome) => {
                let before = queue.len();
                *outcome = queue.flush(common.socket.as_fd(), &common.memory);
                (common, before - queue.len())
            }
            StreamTransfer::Receive(common, state, outcome) => {
                let missing = state.missing();
                *outcome = state.fill_payload(common.socket.as_fd(), &common.memory);
                (common, missing - state.missing())
            }
        };
        common.moved = Moved { bytes, took_ns: started.elapsed().as_nanos() as u64, was_late: false };
    }
}

impl Common {
    fn new((socket, memory): (&Arc<TcpStream>, &UserMemory)) -> Common {
        Common { socket: socket.clone(), memory: memory.lent(), moved: Moved::default() }
    }
}

/// What of a stream threads have, and how what they had has ended.
#[derive(Default)]
pub struct Lent {
    queue: Option<Lease<StreamTransfer>>,
    state: Option<Lease<StreamTransfer>>,
    sent: Option<io::Result<bool>>,
    filled: Option<io::Result<Filled>>,
}

impl Lent {
    /// Has one of `threads` send what is queued. False if none is free.
    pub fn send(
        &mut self,
        queue: &mut TransmitQueue,
        place: (&Arc<TcpStream>, &UserMemory),
        threads: &mut Threads<StreamTransfer>,
    ) -> bool {
        // As after a call that a signal has ended.
        let outcome = Err(io::ErrorKind::Interrupted.into());
        match threads.lend(StreamTransfer::Send(Common::new(place), queue.lend(), outcome)) {
            Ok(lease) => self.queue = Some(lease),
            Err(StreamTransfer::Send(_, back, _)) => queue.take_back(back),
            Err(StreamTransfer::Receive(..)) => {}
        }
        self.queue.is_some()
    }

    /// Has one of `threads` read the payload that is being received. False if none is free, or it does not go to user memory.
    pub fn receive(
        &mut self,
        state: &mut ReceiveState,
        place: (&Arc<TcpStream>, &UserMemory),
        threads: &mut Threads<StreamTransfer>,
    ) -> bool {
        let Some(lent) = state.lend() else { return false };
        // As after a call that a signal has ended.
        match threads.lend(StreamTransfer::Receive(Common::new(place), lent, Err(io::ErrorKind::Interrupted.into()))) {
            Ok(lease) => self.state = Some(lease),
            Err(StreamTransfer::Receive(_, back, _)) => *state = back,
            Err(StreamTransfer::Send(..)) => {}
        }
        self.state.is_some()
    }

    /// Puts what a thread has sent of the queue back, if it is done: how much that was.
    pub fn collect_sent(&mut self, queue: &mut TransmitQueue) -> Option<Moved> {
        let (job, was_late) = self.queue.as_ref()?.look()?;
        self.queue = None;
        self.put_back_queue(job, queue).map(|moved| Moved { was_late, ..moved })
    }

    /// The same of what a thread has read.
    pub fn collect_received(&mut self, state: &mut ReceiveState) -> Option<Moved> {
        let (job, was_late) = self.state.as_ref()?.look()?;
        self.state = None;
        self.put_back_state(job, state).map(|moved| Moved { was_late, ..moved })
    }

    /// The queue is not with a thread when this returns. It may change before its endpoint looks at how sending has ended, so
    /// that nothing is said of it but an error.
    pub fn end_sending(&mut self, queue: &mut TransmitQueue) {
        if let Some(job) = self.queue.take().and_then(|lease| lease.end()) {
            self.put_back_queue(job, queue);
            if let Some(Ok(_)) = self.sent {
                self.sent = Some(Err(io::ErrorKind::Interrupted.into()));
            }
        }
    }

    /// The state is not with a thread when this returns.
    pub fn end_receiving(&mut self, state: &mut ReceiveState) {
        if let Some(job) = self.state.take().and_then(|lease| lease.end()) {
            self.put_back_state(job, state);
        }
    }

    /// How sending has ended, of what is back.
    pub fn take_sent(&mut self) -> Option<io::Result<bool>> {
        self.sent.take()
    }

    /// How reading has ended, of what is back.
    pub fn take_filled(&mut self) -> Option<io::Result<Filled>> {
        self.filled.take()
    }

    /// Whether a thread has anything, or what it had is not looked at yet.
    pub fn is_any(&self) -> bool {
        self.queue.is_some() || self.state.is_some() || self.sent.is_some() || self.filled.is_some()
    }

    fn put_back_queue(&mut self, job: StreamTransfer, queue: &mut TransmitQueue) -> Option<Moved> {
        let StreamTransfer::Send(common, back, outcome) = job else { return None };
        queue.take_back(back);
        self.sent = Some(outcome);
        Some(common.moved)
    }

    fn put_back_state(&mut self, job: StreamTransfer, state: &mut ReceiveState) -> Option<Moved> {
        let StreamTransfer::Receive(common, back, outcome) = job else { return None };
        *state = back;
        self.filled = Some(outcome);
        Some(common.moved)
    }
}
