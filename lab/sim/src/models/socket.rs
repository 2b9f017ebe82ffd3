//! The socket between a driver and its rail, and the data that the kernel accepts from the driver.
//!
//! Frames wait in the driver until the kernel accepts them. The kernel accepts one buffer at a time, while fewer bytes
//! than a limit are unsent (TCP_NOTSENT_LOWAT). Bytes that are sent and not acknowledged are the flow's window; they
//! wait in the queue of the interface, or in the socket if TCP paces them. All of these bytes are ahead of new frames,
//! also ahead of the engine's acknowledgements.

/// The sending side of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Socket {
    /// The kernel accepts data while fewer bytes than these are unsent.
    unsent_limit: u64,
    /// Size of a buffer that the kernel accepts, in bytes.
    buffer: u64,
    /// With pacing, bytes count as sent when they leave the host, not when the window permits them.
    is_paced: bool,
    /// Bytes in the driver.
    waiting: u64,
    /// Bytes in the kernel that are not cut into pieces.
    uncut: u64,
    /// Unsent bytes in the kernel.
    unsent: u64,
    /// The driver waits for the socket to become writable.
    is_blocked: bool,
}

impl Socket {
    /// A kernel that accepts buffers of `buffer` bytes while it has less than `unsent_limit` bytes unsent.
    pub fn new(unsent_limit: u64, buffer: u64, is_paced: bool) -> Socket {
        Socket { unsent_limit, buffer: buffer.max(1), is_paced, waiting: 0, uncut: 0, unsent: 0, is_blocked: false }
    }

    /// The driver has a frame of `bytes` bytes.
    pub fn offer(&mut self, bytes: u64) {
        self.waiting += bytes;
    }

    /// The kernel accepts one buffer from the driver, if it has room. Returns whether it did.
    pub fn take(&mut self) -> bool {
        if self.waiting == 0 || self.unsent >= self.unsent_limit {
            return false;
        }
        let taken = self.buffer.min(self.waiting);
        self.waiting -= taken;
        self.uncut += taken;
        self.unsent += taken;
        true
    }

    /// Number and bytes of the driver's buffers that the kernel would accept if no data left meanwhile.
    pub fn takes(&self) -> (u8, u64) {
        let room = self.unsent_limit.saturating_sub(self.unsent).div_ceil(self.buffer);
        let buffers = room.min(self.waiting.div_ceil(self.buffer)).min(u8::MAX.into());
        (buffers as u8, self.waiting.min(buffers * self.buffer))
    }

    /// The driver has tried to send all its data. Returns whether the kernel has accepted it; otherwise
    /// [`Socket::wakes`] notifies the driver.
    pub fn tried(&mut self) -> bool {
        self.is_blocked = self.waiting > 0;
        !self.is_blocked
    }

    /// Whether the driver waits for the socket to become writable.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Whether neither driver nor kernel have anything to send.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.uncut == 0 && self.unsent == 0 && !self.is_blocked
    }

    /// Bytes that the window may permit.
    pub fn uncut(&self) -> u64 {
        self.uncut
    }

    /// The window permits `bytes` bytes to be sent.
    pub fn cut(&mut self, bytes: u64) {
        self.uncut -= bytes;
        if !self.is_paced {
            self.unsent -= bytes;
        }
    }

    /// `bytes` bytes have left the host. Returns whether the driver is notified that the socket is writable.
    pub fn left(&mut self, bytes: u64) -> bool {
        if self.is_paced {
            self.unsent -= bytes;
        }
        self.is_paced && self.wakes()
    }

    /// The peer's kernel acknowledged data. Returns whether the driver is notified that the socket is writable; once only.
    pub fn wakes(&mut self) -> bool {
        self.is_blocked && self.unsent < self.unsent_limit && {
            self.is_blocked = false;
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_takes_whole_buffers_until_it_has_enough_and_tells_when_it_takes_more() {
        let mut socket = Socket::new(128, 60, false);
        socket.offer(70);
        assert_eq!(socket.takes(), (2, 70));
        socket.offer(230);
        assert_eq!(socket.takes(), (3, 180));
        let taken = std::iter::from_fn(|| socket.take().then_some(())).count();
        assert_eq!((taken, socket.uncut(), socket.tried()), (3, 180, false));
        socket.cut(40);
        assert!(!socket.wakes(), "140 are unsent");
        socket.cut(20);
        assert!(socket.wakes() && !socket.wakes());
        assert!(socket.take() && !socket.take() && !socket.tried());
        socket.cut(180);
        assert!(!socket.left(180) && socket.wakes() && socket.take() && socket.tried());
        assert_eq!(socket.uncut(), 60);
    }

    #[test]
    fn what_is_paced_is_unsent_until_it_leaves() {
        let mut socket = Socket::new(128, 60, true);
        socket.offer(300);
        while socket.take() {}
        assert!(!socket.tried());
        socket.cut(180);
        assert!(!socket.take() && !socket.wakes() && !socket.left(50));
        assert!(socket.left(10) && !socket.left(10) && socket.take());
    }
}
