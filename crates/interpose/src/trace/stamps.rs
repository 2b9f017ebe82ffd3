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
    /// The computation before the present call: processor time, and what elapsed beyond that.
    static COMPUTED: Cell<[u64; 2]> = const { Cell::new([0, 0]) };
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

/// A call begins: the time since the last one is computation, unless it is nested in another call. Returns the moment.
pub fn begin_call(is_nested: bool) -> Stamp {
    let now = Stamp::now();
    if !is_nested {
        COMPUTED.set(LAST.get().map_or([0, 0], |last| now.since(last)));
    }
    now
}

/// The computation before the call, for the one that ends first: it, or one that is nested in it.
pub fn take_computed() -> [u64; 2] {
    COMPUTED.take()
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
