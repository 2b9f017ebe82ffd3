//! Invariant 4: a user buffer is never read after its send has completed.

use super::{Oracle, Scene, Seen};
use crate::transport::memory::Trespass;

pub struct Lease;

impl Oracle for Lease {
    fn name(&self) -> &'static str {
        "lease"
    }

    fn see(&mut self, seen: Seen<'_>, _: Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Trespassed(host, Trespass::Read(extent)) => {
                Err(format!("{host} reads memory that its user has back: {extent:?}"))
            }
            _ => Ok(()),
        }
    }
}
