//! Deferred freeing of this library's communicators.
//!
//! MPI reports the freeing of the program's communicator by a callback of its attribute. The callback must not free other
//! communicators: they are freed in the program's next call that frees a communicator.

use std::sync::Mutex;

use crate::ffi::Comm;
use crate::sync::lock;

static DEFERRED: Mutex<Vec<Comm>> = Mutex::new(Vec::new());

/// Queues communicators to be freed by [`free_deferred`].
pub fn defer(comms: [Comm; 2]) {
    lock(&DEFERRED).extend(comms);
}

/// Frees the queued communicators. Collective: all ranks must call it.
pub fn free_deferred() {
    let comms = std::mem::take(&mut *lock(&DEFERRED));
    comms.into_iter().for_each(Comm::free);
}
