//! What is left to do for an operation when its schedule is done.

use super::datatype::{Kept, Scattered};
use super::memory::{Memory, Scratch};
use super::objects::{Comm, Result};

/// Gives the program's elements what has come, where these are no bytes in one piece.
#[derive(Default)]
pub struct Finish {
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

impl Finish {
    /// With nothing to do yet.
    pub(super) fn on(comm: Comm) -> Finish {
        Finish { comm: Some(comm), ..Finish::default() }
    }

    /// What shall go where.
    pub(super) fn add(&mut self, bytes: Memory, elements: Scattered) {
        self.scattered.push(Piece { bytes, elements });
    }

    /// Does it.
    pub fn finish(&mut self) -> Result<()> {
        let Some(comm) = self.comm else { return Ok(()) };
        for piece in &self.scattered {
            piece.elements.unpack(piece.bytes.address(), piece.bytes.bytes(), comm)?;
        }
        Ok(())
    }
}
