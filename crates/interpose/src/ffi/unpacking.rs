//! Unpacking of received data into the program's elements when a schedule is complete.

use super::datatype::{Kept, Scattered};
use super::memory::{Memory, Scratch};
use super::objects::{Comm, Result};

/// What has to be unpacked: received bytes that go into elements that are not contiguous.
#[derive(Default)]
pub struct Unpacking {
    scattered: Vec<Piece>,
    /// Owns the bytes in one piece that the schedule works on.
    pub(super) staging: Vec<Scratch>,
    /// Owns the datatype of what is scattered.
    pub(super) kept: Option<Kept>,
    comm: Option<Comm>,
}

struct Piece {
    bytes: Memory,
    elements: Scattered,
}

impl Unpacking {
    /// With nothing to do yet.
    pub(super) fn on(comm: Comm) -> Unpacking {
        Unpacking { comm: Some(comm), ..Unpacking::default() }
    }

    /// What shall go where.
    pub(super) fn add(&mut self, bytes: Memory, elements: Scattered) {
        self.scattered.push(Piece { bytes, elements });
    }

    /// Unpacks all of it.
    pub fn unpack(&mut self) -> Result<()> {
        let Some(comm) = self.comm else { return Ok(()) };
        for piece in &self.scattered {
            piece.elements.unpack(piece.bytes.address(), piece.bytes.bytes(), comm)?;
        }
        Ok(())
    }
}
