//! The calls of MPI that a thread is in: calls that come in meanwhile are made by MPI, or by functions of the program that
//! MPI calls (error handlers, callbacks of attributes, operations).
//!
//! A call may be left without returning: by an exception, which [`Entered`] sees, or by `longjmp`, which nobody sees. So
//! a call is known by its frame on the stack, and whether that is still there is looked at when the next one comes in.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::ffi::library::Loaded;

/// Calls within calls that are told apart; deeper ones are handed on.
const DEPTH: usize = 8;

/// What a thread is in.
#[derive(Clone, Copy, Debug)]
pub enum Doing {
    /// A function for Fortran, which calls that for C.
    Fortran,
    /// A call that is recorded.
    Call {
        /// Its number.
        call: usize,
        /// When it began.
        began: u64,
        /// Within another one.
        is_nested: bool,
    },
}

/// A call that a thread is in.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The stack pointer of the function that has called.
    stack: usize,
    /// The address that it returns to.
    pub caller: usize,
    /// What it is.
    pub doing: Doing,
}

/// What lies on the stack between a call and the one that it is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// The MPI, which has called a function of the program's or a tool's.
    Mpi,
    /// No function of the MPI's.
    Others,
    /// Something has no unwinding tables.
    Unknown,
}

const NONE: Frame = Frame { stack: 0, caller: 0, doing: Doing::Fortran };

// Without destructors: threads may call MPI while their other thread-local data go.
thread_local! {
    static FRAMES: [Cell<Frame>; DEPTH] = const { [const { Cell::new(NONE) }; DEPTH] };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// A call that has come in. It is over when this is dropped, also where an exception passes.
pub struct Entered {
    before: usize,
}

impl Drop for Entered {
    fn drop(&mut self) {
        COUNT.set(self.before);
    }
}

/// The call that the one that comes in now is made from, if there is one, and what lies between them. `left` is told of
/// calls that were left without returning.
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

/// The innermost recorded call that the thread is in: its number. To be asked after [`current`].
pub fn call() -> Option<usize> {
    let number = |frame: &Cell<Frame>| if let Doing::Call { call, .. } = frame.get().doing { Some(call) } else { None };
    FRAMES.with(|frames| frames[..COUNT.get()].iter().rev().find_map(number))
}

/// Enters a call; nothing if it is too deep.
pub fn enter(stack: usize, caller: usize, doing: Doing) -> Option<Entered> {
    let before = COUNT.get();
    FRAMES.with(|frames| {
        frames.get(before)?.set(Frame { stack, caller, doing });
        COUNT.set(before + 1);
        Some(Entered { before })
    })
}

/// Where the address is that a call returns to, from the stack pointer of the function that has called.
#[cfg(any(target_arch = "x86_64", target_arch = "riscv64"))]
const RETURN: usize = 8;
/// See `enter`: it is saved with the frame pointer at the end of 80 bytes.
#[cfg(target_arch = "aarch64")]
const RETURN: usize = 72;

/// What lies between a call whose frame this is and another one that comes in; nothing if the former has been left.
fn between(frame: &Frame, stack: usize) -> Option<Between> {
    // What is called lies below.
    if stack >= frame.stack {
        return None;
    }
    // SAFETY: between the stack pointer and a function that has called there is this thread's stack.
    let returns_to = unsafe { ((frame.stack - RETURN) as *const usize).read_volatile() };
    if returns_to != frame.caller {
        return None;
    }
    if matches!(frame.doing, Doing::Fortran) { Some(Between::Unknown) } else { on_the_stack(frame, stack) }
}

/// What the functions of this kind in libgcc take.
enum Context {}

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: extern "C" fn(*mut Context, *mut c_void) -> c_int, search: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

/// Looks for the frame of a call on the stack, from here upwards. Where the search ends before it has come so far, the
/// frame is taken to be there.
fn on_the_stack(frame: &Frame, stack: usize) -> Option<Between> {
    struct Search {
        /// Functions of the program and the MPI lie between.
        below: usize,
        above: usize,
        last: usize,
        is_mpi: bool,
        loaded: Loaded,
    }
    extern "C" fn visit(context: *mut Context, search: *mut c_void) -> c_int {
        const NORMAL_STOP: c_int = 4;
        // SAFETY: our own pointer, and a context that is valid here.
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
    // SAFETY: a function as it wants one, and what it hands to that, which outlives the call.
    unsafe { _Unwind_Backtrace(visit, ptr::from_mut(&mut search).cast()) };
    match search {
        Search { last, above, .. } if last > above => None,
        Search { is_mpi: true, .. } => Some(Between::Mpi),
        Search { last, above, .. } if last == above => Some(Between::Others),
        _ => Some(Between::Unknown),
    }
}
