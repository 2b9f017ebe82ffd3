//! Tests whether a backend of the emulator works on this machine.

use std::path::Path;

use anyhow::Result;

use crate::namespace::within;
use crate::nfqueue::{self, Queue};
use crate::plan::Backend;
use crate::tap;

/// An interface that every network namespace has.
const LOOPBACK: &str = "lo";
/// Name of a temporary TAP device.
const TRIAL_DEVICE: &str = "fishplate-try";
/// A queue number beyond those of plans.
const TRIAL_QUEUE: u16 = u16::MAX;

/// Sets up a backend in an unused namespace, and removes everything again.
///
/// # Errors
/// Describes the missing prerequisite for the user.
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
