//! Numbers the threads that call MPI, from 0.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

// A type without a destructor: threads may call MPI while their thread-local data are being destroyed.
thread_local! {
    static OWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Number of this thread.
pub fn own() -> u32 {
    OWN.get().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        OWN.set(Some(number));
        number
    })
}
