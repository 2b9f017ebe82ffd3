//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. A panic ends the process, so nobody sees the state that one leaves behind.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
