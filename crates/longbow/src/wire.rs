//! Where frames come from and go to.

use std::os::fd::BorrowedFd;

use anyhow::Result;

/// Most frames taken from one wire before others get their turn.
pub const BATCH: usize = 64;

/// One direction between two interfaces, as the kernel hands over its frames.
pub trait Wire {
    /// What stands for a frame: a number, or its bytes.
    type Frame;

    /// Becomes readable when frames wait.
    fn readable(&self) -> BorrowedFd<'_>;

    /// Takes up to [`BATCH`] frames that wait.
    fn receive(&mut self, arrivals: &mut Vec<Arrival<Self::Frame>>) -> Result<()>;

    /// Lets a frame arrive; may wait for [`Wire::flush`]. With a random number, a bit of its payload that this chooses is
    /// changed; false if it has none.
    fn deliver(&mut self, frame: Self::Frame, flip: Option<u64>) -> bool;

    /// Lets a frame vanish; may wait for [`Wire::flush`].
    fn discard(&mut self, frame: Self::Frame);

    /// Carries out what was asked for.
    fn flush(&mut self) -> Result<()>;

    /// Whether segmentation-offload frames are to come whole, which costs less, or as the packets they stand for. `changes`:
    /// bits of them may be changed, so that their content has to come as well.
    fn take_whole(&mut self, whole: bool, changes: bool) -> Result<()>;

    /// Times that the machine, not the model, lost frames.
    fn mishaps(&self) -> u64;
}

/// A frame that has come.
pub struct Arrival<F> {
    pub frame: F,
    /// With all that the packets which it stands for have around them.
    pub wire_bytes: u32,
    /// How long ago it came.
    pub age_ns: u64,
}
