//! Progress while the application is not in MPI, by calls of the progress thread.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Number of progress calls so far: if it stays the same, the application is not in MPI.
    pub fn progress_calls(&self) -> u64 {
        self.progress.calls
    }

    /// How long ago the network was looked at last.
    pub fn since_look(&self) -> Duration {
        Duration::from_nanos(self.clock.now().since_ns(self.progress.now))
    }

    /// Whether sends wait for a socket, a thread, shared memory or a device.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        self.links.has_blocked_sends()
    }

    /// Whether anything that was posted has not ended, so that what comes from the network may be for it.
    #[inline]
    pub fn has_pending_operations(&self) -> bool {
        self.engine.has_pending_operations()
    }

    /// Whether there is anything to go on with while the program is away: operations, or memory that peers access.
    pub fn has_background_work(&self) -> bool {
        self.engine.has_pending_operations() || self.engine.is_accessible()
    }

    /// How often peers have asked for what is in memory here, over links, and wait for it.
    pub fn questions(&self) -> u64 {
        self.engine.questions()
    }

    /// A descriptor that is readable while a socket of the endpoint is ready, if [`Endpoint::progress_in_background`] was called
    /// last.
    pub fn readiness_fd(&self) -> io::Result<OwnedFd> {
        self.poller.try_clone()
    }

    /// Hands the kernel what it takes by now of what was posted. Nothing is read.
    pub fn flush_posted(&mut self) {
        let now = self.clock.now();
        self.links.tcp.unblock_stalled();
        self.collect_sends();
        self.links.tcp.query_kernel_acks(&mut self.engine, now);
        self.advance_without_sockets(now);
        self.pump(now);
        self.links.ring_bells(true);
    }

    /// All that [`Endpoint::progress`] does; from then on all sockets are in the poll set, and peers that share memory ring.
    /// False if more has come by now.
    pub fn progress_in_background(&mut self) -> bool {
        self.progress.looks.expect();
        self.pause_transfers(self.progress.now);
        self.progress();
        self.resume_transfers();
        self.register_active_link();
        self.links.sleep()
    }
}
