//! Abstraction of the backends: where frames are received and sent.

use std::os::fd::BorrowedFd;

use anyhow::Result;

/// Limit of the number of frames received from one wire before the others are served.
pub const BATCH: usize = 64;

/// One direction between two interfaces.
pub trait Wire {
    /// Token of a frame: its number, or its bytes.
    type Frame;

    /// Descriptor that is readable while frames wait.
    fn readable(&self) -> BorrowedFd<'_>;

    /// Receives up to [`BATCH`] waiting frames.
    fn receive(&mut self, arrivals: &mut Vec<Arrival<Self::Frame>>) -> Result<()>;

    /// Delivers a frame, possibly only at the next [`Wire::flush`]. `flip`: a random number that selects a bit of the payload to
    /// be flipped. Returns false if there is no payload.
    fn deliver(&mut self, frame: Self::Frame, flip: Option<u64>) -> bool;

    /// Drops a frame, possibly only at the next [`Wire::flush`].
    fn discard(&mut self, frame: Self::Frame);

    /// Completes all deliveries and drops so far.
    fn flush(&mut self) -> Result<()>;

    /// `whole`: receive segmentation-offload frames as such, which costs less, or as separate packets. `changes`: bits may be
    /// flipped, which requires the content of frames.
    fn take_whole(&mut self, whole: bool, changes: bool) -> Result<()>;

    /// Number of times that frames were lost against the model.
    fn mishaps(&self) -> u64;
}

/// A received frame.
pub struct Arrival<F> {
    pub frame: F,
    /// Bytes on the wire of all packets that it stands for.
    pub wire_bytes: u32,
    /// Time since its reception.
    pub age_ns: u64,
}
