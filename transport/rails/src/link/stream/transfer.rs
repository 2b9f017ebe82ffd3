//! A long transfer of a stream in one direction, which a transfer thread carries out.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use fishplate_link_core::UserMemory;

use super::Filled;
use super::receive::ReceiveState;
use super::transmit::TransmitQueue;
use crate::transfer::{Lease, Threads, Transfer};

/// One direction of a stream, with its lent queue or receive state, and the result.
pub enum StreamTransfer {
    /// True once everything is sent; false when the socket is full.
    Send(Common, TransmitQueue, io::Result<bool>),
    /// The result of the last read of a payload.
    Receive(Common, ReceiveState, io::Result<Filled>),
}

/// State of both directions.
pub struct Common {
    socket: Arc<TcpStream>,
    memory: UserMemory,
    moved: Moved,
}

/// Result of a thread's copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of bytes.
    pub bytes: u64,
    /// How long that took, in nanoseconds.
    pub took_ns: u64,
    /// No thread had begun with the job in time.
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

/// Queue and receive state of a stream while they are lent, and the results of ended loans.
#[derive(Default)]
pub struct Lent {
    queue: Option<Lease<StreamTransfer>>,
    state: Option<Lease<StreamTransfer>>,
    sent: Option<io::Result<bool>>,
    filled: Option<io::Result<Filled>>,
}

impl Lent {
    /// Has one of `threads` send the queue. False if none is free.
    pub fn send(
        &mut self,
        queue: &mut TransmitQueue,
        place: (&Arc<TcpStream>, &UserMemory),
        threads: &mut Threads<StreamTransfer>,
    ) -> bool {
        // Until the thread sets it: as after an interrupted call.
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
        // Until the thread sets it: as after an interrupted call.
        match threads.lend(StreamTransfer::Receive(Common::new(place), lent, Err(io::ErrorKind::Interrupted.into()))) {
            Ok(lease) => self.state = Some(lease),
            Err(StreamTransfer::Receive(_, back, _)) => *state = back,
            Err(StreamTransfer::Send(..)) => {}
        }
        self.state.is_some()
    }

    /// Takes the queue back if the thread is done. Returns what it has sent.
    pub fn collect_sent(&mut self, queue: &mut TransmitQueue) -> Option<Moved> {
        let (job, was_late) = self.queue.as_ref()?.try_take()?;
        self.queue = None;
        self.put_back_queue(job, queue).map(|moved| Moved { was_late, ..moved })
    }

    /// Takes the receive state back if the thread is done. Returns what it has read.
    pub fn collect_received(&mut self, state: &mut ReceiveState) -> Option<Moved> {
        let (job, was_late) = self.state.as_ref()?.try_take()?;
        self.state = None;
        self.put_back_state(job, state).map(|moved| Moved { was_late, ..moved })
    }

    /// Takes the queue back, and waits for the thread if need be. The queue may change before the result is read, so that only an
    /// error is kept of that.
    pub fn end_sending(&mut self, queue: &mut TransmitQueue) {
        if let Some(job) = self.queue.take().and_then(|lease| lease.end()) {
            self.put_back_queue(job, queue);
            if let Some(Ok(_)) = self.sent {
                self.sent = Some(Err(io::ErrorKind::Interrupted.into()));
            }
        }
    }

    /// Takes the receive state back, and waits for the thread if need be.
    pub fn end_receiving(&mut self, state: &mut ReceiveState) {
        if let Some(job) = self.state.take().and_then(|lease| lease.end()) {
            self.put_back_state(job, state);
        }
    }

    /// Takes the result of sending, once the queue is back.
    pub fn take_sent(&mut self) -> Option<io::Result<bool>> {
        self.sent.take()
    }

    /// Takes the result of reading, once the receive state is back.
    pub fn take_filled(&mut self) -> Option<io::Result<Filled>> {
        self.filled.take()
    }

    /// Whether anything is lent, or a result was not taken yet.
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
