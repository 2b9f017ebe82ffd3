//! Progress while the application is not in MPI, by calls of the progress thread.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Number of progress calls so far: while it does not change, the application is not in MPI.
    pub fn progress_calls(&self) -> u64 {
        self.progress.calls
    }

    /// Time since the network was polled last.
    pub fn since_poll(&self) -> Duration {
        Duration::from_nanos(self.clock.now().since_ns(self.progress.now))
    }

    /// Whether sends wait for a socket, a thread, shared memory or a device.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        self.links.has_blocked_sends()
    }

    /// Whether posted operations have not completed, so that the network may bring something for them.
    #[inline]
    pub fn has_pending_operations(&self) -> bool {
        self.engine.has_pending_operations()
    }

    /// Whether progress is needed while the program is away: for operations, or for memory that peers access.
    pub fn has_background_work(&self) -> bool {
        self.engine.has_pending_operations() || self.engine.is_accessible()
    }

    /// Number of requests of peers over links so far whose initiators wait for the answer: short reads, atomic operations with a
    /// result.
    pub fn incoming_requests(&self) -> u64 {
        self.engine.incoming_requests()
    }

    /// A descriptor that is readable while a socket of the endpoint is ready, if [`Endpoint::progress_in_background`] was called
    /// last.
    pub fn readiness_fd(&self) -> io::Result<OwnedFd> {
        self.poller.try_clone()
    }

    /// Sends posted frames as far as the kernel takes them. Nothing is read.
    pub fn flush_posted(&mut self) {
        let now = self.clock.now();
        self.links.tcp.unblock_stalled();
        self.collect_sends();
        self.links.tcp.query_kernel_acks(&mut self.engine, now);
        self.advance_without_sockets(now);
        self.pump(now);
        self.links.memory.ring_bells(true);
    }

    /// Makes progress as [`Endpoint::progress`] does; then puts all sockets into the poll set, and has peers that share memory ring.
    /// False if more has come meanwhile.
    pub fn progress_in_background(&mut self) -> bool {
        self.progress.socket_polls.expect();
        self.pause_transfers(self.progress.now);
        self.progress();
        self.resume_transfers();
        self.register_active_link();
        self.links.sleep()
    }
}
