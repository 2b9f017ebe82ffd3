//! Whether a backend of the emulator works on this machine.

use std::path::Path;

use anyhow::Result;

use crate::namespace::within;
use crate::nfqueue::{self, Queue};
use crate::plan::Backend;
use crate::tap;

/// An interface that every network namespace has.
const LOOPBACK: &str = "lo";
/// A name for a device that vanishes at once.
const TRIAL_DEVICE: &str = "fishplate-try";
/// A queue number that no plan gets to.
const TRIAL_QUEUE: u16 = u16::MAX;

/// Tries a way of emulating in a namespace that nobody uses yet, and leaves nothing there.
///
/// # Errors
/// What is missing, in words for the user.
pub fn check(backend: Backend, namespace: &Path) -> Result<()> {
    within(namespace, || match backend {
        Backend::Nfqueue => {
            let tried = Queue::open(LOOPBACK, TRIAL_QUEUE, true);
            nfqueue::remove()?;
            tried.map(drop)
        }
        Backend::Tap => tap::make(TRIAL_DEVICE).map(drop),
    })
}
