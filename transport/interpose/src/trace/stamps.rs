//! The computation between two calls of a thread.

use std::cell::Cell;

use crate::ffi::clock;

/// Clock readings of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// Processor time of the thread.
    pub processor: u64,
    /// Monotonic time.
    pub elapsed: u64,
}

thread_local! {
    /// End of the last call; `None` before the first one.
    static LAST: Cell<Option<Stamp>> = const { Cell::new(None) };
    /// Computation before the present call: processor time and idle time.
    static COMPUTED: Cell<[u64; 2]> = const { Cell::new([0, 0]) };
}

impl Stamp {
    /// Reads both clocks.
    pub fn now() -> Stamp {
        Stamp { processor: clock::processor(), elapsed: clock::monotonic() }
    }

    /// Processor time since an earlier moment, and what elapsed beyond that.
    pub fn since(self, earlier: Stamp) -> [u64; 2] {
        let processor = self.processor.saturating_sub(earlier.processor);
        [processor, self.elapsed.saturating_sub(earlier.elapsed).saturating_sub(processor)]
    }
}

/// A call begins: the time since the last call is computation, unless the call is nested. Returns the present time.
pub fn begin_call(is_nested: bool) -> Stamp {
    let now = Stamp::now();
    if !is_nested {
        COMPUTED.set(LAST.get().map_or([0, 0], |last| now.since(last)));
    }
    now
}

/// The computation before the call. The call that ends first takes it: this one, or one nested in it.
pub fn take_computed() -> [u64; 2] {
    COMPUTED.take()
}

/// A call ended, including its recording.
pub fn end_call() {
    LAST.set(Some(Stamp::now()));
}

/// Time between two clock readings spent on the readings themselves, in nanoseconds: it is not computation.
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
