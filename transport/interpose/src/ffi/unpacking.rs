//! Unpacking of received data into the program's elements when a schedule is complete.

use super::datatype::{Kept, Scattered};
use super::memory::{Memory, Scratch};
use super::objects::{Comm, Result};

/// Received bytes that must be unpacked into noncontiguous elements.
#[derive(Default)]
pub struct Unpacking {
    scattered: Vec<Piece>,
    /// Owner of the contiguous buffers of the schedule.
    pub(super) staging: Vec<Scratch>,
    /// Owner of the datatype of the elements.
    pub(super) kept: Option<Kept>,
    comm: Option<Comm>,
}

struct Piece {
    bytes: Memory,
    elements: Scattered,
}

impl Unpacking {
    /// Without anything to unpack.
    pub(super) fn on(comm: Comm) -> Unpacking {
        Unpacking { comm: Some(comm), ..Unpacking::default() }
    }

    pub(super) fn add(&mut self, bytes: Memory, elements: Scattered) {
        self.scattered.push(Piece { bytes, elements });
    }

    pub fn unpack(&mut self) -> Result<()> {
        let Some(comm) = self.comm else { return Ok(()) };
        for piece in &self.scattered {
            piece.elements.unpack(piece.bytes.address(), piece.bytes.bytes(), comm)?;
        }
        Ok(())
    }
}
