//! The active MPI calls of a thread. Calls within them are made by MPI itself, or by functions of the program that MPI calls
//! (error handlers, callbacks of attributes, operations).
//!
//! A call may end without returning: by an exception, which drops [`Entered`], or by `longjmp`, which drops nothing. So a call
//! is identified by its stack frame, and the next call checks whether the frame still exists.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::ffi::library::Loaded;

/// Limit of the nesting of tracked calls; deeper calls are passed on untracked.
const DEPTH: usize = 8;

/// Kind of an active call.
#[derive(Clone, Copy, Debug)]
pub enum Doing {
    /// A Fortran function, which calls the C function.
    Fortran,
    /// A call that is recorded.
    Call {
        /// Number of the call.
        call: usize,
        began: u64,
        /// Whether it is within another call.
        is_nested: bool,
    },
}

/// An active call of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Stack pointer of the calling function.
    stack: usize,
    /// Return address of the call.
    pub caller: usize,
    pub doing: Doing,
}

/// Functions on the stack between a call and an inner call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Functions of the MPI, which called a function of the program or of a tool.
    Mpi,
    /// No function of the MPI.
    Others,
    /// Unknown, as a function has no unwind tables.
    Unknown,
}

const NONE: Frame = Frame { stack: 0, caller: 0, doing: Doing::Fortran };

// Types without destructors: threads may call MPI while their thread-local data are being destroyed.
thread_local! {
    static FRAMES: [Cell<Frame>; DEPTH] = const { [const { Cell::new(NONE) }; DEPTH] };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Guard of an active call: the call ends when the guard is dropped, also by an exception.
pub struct Entered {
    before: usize,
}

impl Drop for Entered {
    fn drop(&mut self) {
        COUNT.set(self.before);
    }
}

/// The active call within which a new call is made, if any, and the functions between them. Passes calls that ended without
/// returning to `left`.
pub fn current(stack: usize, left: impl Fn(&Frame)) -> Option<(Frame, Between)> {
    loop {
        let count = COUNT.get();
        let frame = FRAMES.with(|frames| Some(frames[count.checked_sub(1)?].get()))?;
        if let Some(between) = between(&frame, stack) {
            return Some((frame, between));
        }
        COUNT.set(count - 1);
        left(&frame);
    }
}

/// Number of the innermost recorded active call. To be called after [`current`].
pub fn call() -> Option<usize> {
    let number = |frame: &Cell<Frame>| if let Doing::Call { call, .. } = frame.get().doing { Some(call) } else { None };
    FRAMES.with(|frames| frames[..COUNT.get()].iter().rev().find_map(number))
}

/// Begins a call; `None` if it is nested too deeply.
pub fn enter(stack: usize, caller: usize, doing: Doing) -> Option<Entered> {
    let before = COUNT.get();
    FRAMES.with(|frames| {
        frames.get(before)?.set(Frame { stack, caller, doing });
        COUNT.set(before + 1);
        Some(Entered { before })
    })
}

/// Offset of the return address below the stack pointer of the calling function.
#[cfg(any(target_arch = "x86_64", target_arch = "riscv64"))]
const RETURN: usize = 8;
/// See `enter`: the return address is saved with the frame pointer at the end of 80 bytes.
#[cfg(target_arch = "aarch64")]
const RETURN: usize = 72;

/// The functions between a frame and an inner call; `None` if the call of the frame ended without returning.
fn between(frame: &Frame, stack: usize) -> Option<Between> {
    // The stack grows downwards.
    if stack >= frame.stack {
        return None;
    }
    // SAFETY: the memory between the stack pointer and the frame of a caller is this thread's stack.
    let returns_to = unsafe { ((frame.stack - RETURN) as *const usize).read_volatile() };
    if returns_to != frame.caller {
        return None;
    }
    if matches!(frame.doing, Doing::Fortran) { Some(Between::Unknown) } else { on_the_stack(frame, stack) }
}

/// libgcc's opaque unwind context.
enum Context {}

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: extern "C" fn(*mut Context, *mut c_void) -> c_int, search: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

/// Searches the stack for the frame of a call, from here upwards. If unwinding ends early, the frame is assumed to exist.
fn on_the_stack(frame: &Frame, stack: usize) -> Option<Between> {
    struct Search {
        /// Stack addresses from `below` to `above` belong to functions between the outer and the inner call.
        below: usize,
        above: usize,
        last: usize,
        is_mpi: bool,
        loaded: Loaded,
    }
    extern "C" fn visit(context: *mut Context, search: *mut c_void) -> c_int {
        const NORMAL_STOP: c_int = 4;
        // SAFETY: the pointer passed below, and a context that is valid during the callback.
        let (search, at, address) =
            unsafe { (&mut *search.cast::<Search>(), _Unwind_GetCFA(context), _Unwind_GetIP(context)) };
        search.last = at;
        if at >= search.above {
            return NORMAL_STOP;
        }
        search.is_mpi |= at >= search.below && !search.is_mpi && search.loaded.is_of_mpi(address);
        0
    }
    let mut search = Search { below: stack, above: frame.stack, last: 0, is_mpi: false, loaded: Loaded::now() };
    // SAFETY: a callback of the required type, and its argument, which outlives the call.
    unsafe { _Unwind_Backtrace(visit, ptr::from_mut(&mut search).cast()) };
    match search {
        Search { last, above, .. } if last > above => None,
        Search { is_mpi: true, .. } => Some(Between::Mpi),
        Search { last, above, .. } if last == above => Some(Between::Others),
        _ => Some(Between::Unknown),
    }
}
