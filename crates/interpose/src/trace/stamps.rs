//! The computation between two calls of a thread.

use std::cell::Cell;

use crate::ffi::clock;

/// A moment of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// Processor time of the thread.
    pub processor: u64,
    /// The monotonic clock.
    pub elapsed: u64,
}

thread_local! {
    /// When the last call ended; nothing before the first one.
    static LAST: Cell<Option<Stamp>> = const { Cell::new(None) };
}

impl Stamp {
    /// Now.
    pub fn now() -> Stamp {
        Stamp { processor: clock::processor(), elapsed: clock::monotonic() }
    }

    /// Processor time since an earlier moment, and what elapsed beyond that.
    pub fn since(self, earlier: Stamp) -> [u64; 2] {
        let processor = self.processor.saturating_sub(earlier.processor);
        [processor, self.elapsed.saturating_sub(earlier.elapsed).saturating_sub(processor)]
    }
}

/// A call begins. Returns the moment, and the time since the last one.
pub fn begin_call() -> (Stamp, [u64; 2]) {
    let now = Stamp::now();
    (now, LAST.get().map_or([0, 0], |last| now.since(last)))
}

/// A call has ended, with all that is recorded of it.
pub fn end_call() {
    LAST.set(Some(Stamp::now()));
}

/// What two looks at the clocks take of the time between them, in nanoseconds: it is no computation.
pub fn overhead() -> u64 {
    const LOOKS: usize = 1001;
    let mut times = [0; LOOKS];
    for time in &mut times {
        let before = Stamp::now();
        *time = Stamp::now().since(before)[0];
    }
    times.sort_unstable();
    times[LOOKS / 2]
}
