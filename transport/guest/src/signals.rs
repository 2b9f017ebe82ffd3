//! Threads of ours must not run the application's signal handlers.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Signals that a thread causes itself: they are for the thread alone, and the program may handle them, as those do that protect
/// pages and learn from the fault that a page is written to. Blocked, they would end the process.
const FAULTS: [Signal; 6] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGTRAP, Signal::SIGSYS];

/// Runs `body` with all other signals blocked; a thread that it starts keeps them so.
pub fn without_signals<R>(body: impl FnOnce() -> R) -> R {
    let mut others = SigSet::all();
    FAULTS.into_iter().for_each(|fault| others.remove(fault));
    let before = others.thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let result = body();
    let _ = before.and_then(|before| before.thread_set_mask());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_started_so_gets_no_signals_but_its_own_faults() {
        let of_thread = || SigSet::thread_get_mask().unwrap();
        let before = of_thread();
        let started = without_signals(|| std::thread::spawn(of_thread)).join().unwrap();
        assert!([Signal::SIGALRM, Signal::SIGTERM].iter().all(|signal| started.contains(*signal)));
        assert!(!FAULTS.iter().any(|fault| started.contains(*fault)));
        assert_eq!(of_thread(), before);
    }
}
