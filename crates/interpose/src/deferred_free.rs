//! Communicators of ours that are to be freed.
//!
//! MPI tells that the program's communicator is gone in a callback (of its attribute), which must not free others: they
//! are freed later, in the next call of the program that frees a communicator.

use std::sync::Mutex;

use crate::ffi::Comm;
use crate::sync::lock;

static DEFERRED: Mutex<Vec<Comm>> = Mutex::new(Vec::new());

/// Frees these communicators later.
pub fn defer(comms: [Comm; 2]) {
    lock(&DEFERRED).extend(comms);
}

/// Frees what was deferred. All ranks must call this.
pub fn free_deferred() {
    let comms = std::mem::take(&mut *lock(&DEFERRED));
    comms.into_iter().for_each(Comm::free);
}
