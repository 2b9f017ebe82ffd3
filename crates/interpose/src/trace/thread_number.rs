//! Threads that call MPI, by number: the first one is 0.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

// Without a destructor: a thread may call MPI while its other thread-local data go.
thread_local! {
    static OWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// That of this thread.
pub fn own() -> u32 {
    OWN.get().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        OWN.set(Some(number));
        number
    })
}
