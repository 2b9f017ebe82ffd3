//! Progress while the application is away from MPI, by the calls of a thread that watches over the endpoint.

use std::io;
use std::os::fd::OwnedFd;

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Number of progress calls so far: where it stays the same, the application is away.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether sends wait for a socket that was full.
    #[inline]
    pub fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Whether anything that was posted has not ended, so that what comes from the network may be for it.
    #[inline]
    pub fn is_expecting(&self) -> bool {
        self.engine.is_expecting()
    }

    /// Becomes readable while there are news from the network for an endpoint whose [`Endpoint::progress_away`] was called
    /// last.
    pub fn news(&self) -> io::Result<OwnedFd> {
        self.poller.try_clone()
    }

    /// Hands the kernel what it takes by now of what was posted. Nothing is read.
    pub fn push(&mut self) {
        let now = self.clock.now();
        for at in std::mem::take(&mut self.stalled) {
            self.unblock(at);
        }
        self.ask_for_deliveries(now);
        self.pump(now);
    }

    /// All that [`Endpoint::progress`] does, and all sockets tell of their news from then on.
    pub fn progress_away(&mut self) {
        self.progress();
        self.watch_hot();
    }
}
