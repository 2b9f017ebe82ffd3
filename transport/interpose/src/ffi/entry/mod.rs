//! The functions that programs call by MPI's names (`MPI_*`, and those of Fortran), and the dispatch of calls.
//!
//! - `build.rs` writes the functions; [`enter()`] lays their arguments out in memory, [`arguments`] reads them;
//! - [`target`] finds the function to which a call is passed on: the next one of its name, usually the MPI's, or one of
//!   [`super::overrides`]; calls that need no further inspection skip all the rest from then on;
//! - [`frames`] tracks the active calls of a thread, [`recording`] whether the thread is recording; [`end`] is a hook at the
//!   end of the process;
//! - [`observation`] records a call in a profile ([`messages`]; [`collectives`] with the [`significance`] of arguments),
//!   [`tracing`] in a trace.

mod arguments;
mod collectives;
mod end;
mod enter;
mod frames;
mod messages;
mod narrowing;
mod observation;
mod recording;
mod significance;
mod statuses;
mod target;
mod tracing;

use std::arch::naked_asm;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::AtomicPtr;

use fishplate_profile::calls::{self, Call, Kind};

use super::abi::Abi;
use super::{clock, library};
use crate::notes;
use crate::profile::{self, Moment, Session};
use crate::sync::lock;
use crate::trace;
use arguments::Arguments;
use enter::enter;
use frames::{Between, Doing, Frame};
use observation::Observation;
use recording::Recording;
use target::Target;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Number of entries of a call.
const LANGUAGES: usize = 5;

/// By entry: the function to which [`enter()`] jumps directly; null: calls go to [`dispatch`].
static DIRECT: [AtomicPtr<c_void>; CALLS * LANGUAGES] = [const { AtomicPtr::new(ptr::null_mut()) }; CALLS * LANGUAGES];

/// Language of an entry; in the order of `build.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `MPI_Send`.
    C,
    /// `mpi_send_`.
    Fortran,
    /// `ompi_send_f`, which Open MPI's `mpi_f08` calls, with the arguments of `mpi_send_`.
    OpenMpiFortran,
    /// `mpi_send_f08_`, with the arguments of `mpi_send_`; in MPICH only for functions without a buffer.
    Fortran2008,
    /// `mpi_send_f08ts_`, which takes Fortran's descriptors of buffers.
    Fortran2008Described,
}

impl Language {
    fn of(entry: usize) -> Language {
        use Language::{C, Fortran, Fortran2008, Fortran2008Described, OpenMpiFortran};
        [C, Fortran, OpenMpiFortran, Fortran2008, Fortran2008Described][entry % LANGUAGES]
    }

    /// Whether calls by this name are recorded. If not, the function calls another interposed one: MPICH's functions for Fortran
    /// call those for C, except those of `mpi_f08` without a buffer; Open MPI's call each other.
    fn is_recorded(self) -> bool {
        let is_open_mpi = Abi::get().is_some_and(Abi::is_open_mpi);
        match self {
            Language::C => true,
            Language::Fortran | Language::OpenMpiFortran => is_open_mpi,
            Language::Fortran2008 => !is_open_mpi,
            Language::Fortran2008Described => false,
        }
    }
}

/// Dispatches a call of the program. `caller` is its return address.
///
/// Exceptions thrown by error handlers and callbacks, and the cancellation of a thread in one, unwind through this function.
///
/// # Safety
/// `registers` points to the arguments passed in registers, `stack` to the further arguments on the stack.
unsafe extern "C-unwind" fn dispatch(
    entry: usize,
    registers: *const usize,
    stack: *const usize,
    caller: usize,
) -> usize {
    let call = &calls::table()[entry / LANGUAGES];
    // SAFETY: as above.
    let mut arguments = unsafe { Arguments::read(call, Language::of(entry), registers, stack) };
    let target = target::of(entry, caller, &mut arguments);
    let result = carry_out(&target, &mut arguments, (stack as usize, caller));
    target.release();
    result
}

fn carry_out(target: &Target, arguments: &mut Arguments, (stack, caller): (usize, usize)) -> usize {
    let function = target.function;
    if recording::is_under_way() {
        profile::interrupted();
    }
    if arguments.call.kind == Kind::Life {
        return life(function, arguments);
    }
    let Some(session) = profile::get() else { return arguments.call(function) };
    let recording = Recording::begin();
    let outer = frames::current(stack, |left| {
        if let Doing::Call { call, began, is_nested: false } = left.doing {
            session.left(call, left.caller, began);
        }
    });
    if !arguments.language.is_recorded() {
        let _entered = frames::enter(stack, caller, Doing::Fortran);
        return recording.call(arguments, function);
    }
    let (is_of_fortran, caller) = match outer {
        Some((Frame { caller, doing: Doing::Fortran, .. }, _)) => (true, caller),
        _ => (false, caller),
    };
    let between = outer.map_or(Between::Unknown, |(_, between)| between);
    let outer = if outer.is_some() { frames::call() } else { None };
    if outer.is_some_and(|outer| !is_of_fortran && is_part_of((outer, between), target, arguments.call, caller)) {
        return hand_on(&recording, session, arguments, function);
    }
    let (is_nested, began) = (outer.is_some(), clock::monotonic());
    let Some(_entered) = frames::enter(stack, caller, Doing::Call { call: target.call, began, is_nested }) else {
        return hand_on(&recording, session, arguments, function);
    };
    let moment = Moment { call: target.call, caller, began, ended: began, site: 0, is_nested };
    record(&recording, session, arguments, function, moment)
}

/// Whether a call within another one belongs to it: MPI makes it internally, or another tool passes it on. Other inner calls
/// are made by the program, in a function that MPI calls.
fn is_part_of((outer, between): (usize, Between), target: &Target, call: &Call, caller: usize) -> bool {
    let is_handed_on = outer == target.call
        && match between {
            Between::Mpi => false,
            Between::Others => true,
            Between::Unknown => call.kind != Kind::Manage,
        };
    is_handed_on || library::Loaded::now().is_of_mpi(caller)
}

/// Executes a call without recording it. Objects that it frees are still forgotten.
fn hand_on(recording: &Recording, session: &Session, arguments: &mut Arguments, function: *mut c_void) -> usize {
    let freed = observation::forget_communicator(session, arguments);
    let result = recording.call(arguments, function);
    if let (Some(freed), true) = (freed, arguments.has_failed(result)) {
        lock(&session.recorder).communicators.keep(freed);
    }
    result
}

/// Guard of a recorded call: the call ends when the guard is dropped. If an exception drops it, the call counts as failed.
struct Recorded<'a> {
    session: &'a Session,
    moment: Moment,
    has_returned: bool,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        if !self.has_returned {
            self.session.abandoned(Moment { ended: clock::monotonic(), ..self.moment });
        }
        if !self.moment.is_nested {
            self.session.end_call();
        }
    }
}

fn record(
    recording: &Recording,
    session: &Session,
    arguments: &mut Arguments,
    function: *mut c_void,
    moment: Moment,
) -> usize {
    let Moment { call, caller, began, is_nested, .. } = moment;
    let stamp = session.tracer.is_some().then(|| trace::begin_call(is_nested));
    if !is_nested {
        session.begin_call(call, caller, began);
    }
    let mut recorded = Recorded { session, moment, has_returned: false };
    let observation = Observation::before(session, arguments);
    let result = recording.call(arguments, function);
    recorded.has_returned = true;
    let moment = Moment { ended: clock::monotonic(), ..moment };
    let done = catch_unwind(AssertUnwindSafe(|| observation.after(session, arguments, result, moment, stamp)));
    drop(recorded);
    if stamp.is_some() {
        trace::end_call();
    }
    if done.is_err() {
        // Must not affect the program.
        fishplate_guest::report("recording a profile has failed (see above); the program runs on without");
        profile::give_up();
    }
    result
}

/// Executes the initialization and finalization of MPI, and MPI_Pcontrol.
fn life(function: *mut c_void, arguments: &Arguments) -> usize {
    let is_outermost = arguments.language.is_recorded();
    let recording = Recording::begin();
    match arguments.call.name.as_str() {
        "MPI_Abort" if is_outermost => profile::abort(arguments.int_at(1)),
        "MPI_Finalize" | "MPI_Session_finalize" if is_outermost && profile::is_last() => {
            profile::begin_end();
            notes::ends();
        }
        "MPI_Pcontrol" if arguments.int_at(0) == 0 => profile::pause(),
        "MPI_Pcontrol" => profile::resume(),
        _ => {}
    }
    let begins =
        is_outermost && matches!(arguments.call.name.as_str(), "MPI_Init" | "MPI_Init_thread" | "MPI_Session_init");
    if begins {
        notes::begin();
    }
    let result = recording.call(arguments, function);
    match arguments.call.name.as_str() {
        _ if begins && arguments.has_failed(result) => notes::has_failed(),
        _ if begins => {
            let is_session = arguments.call.name == "MPI_Session_init";
            let made = Abi::get().filter(|_| is_session).and_then(|abi| arguments.handle_of(abi, b'j', 0));
            profile::start(made);
            notes::has_begun(profile::get().is_some());
        }
        "MPI_Finalize" | "MPI_Session_finalize" if is_outermost => profile::finish(),
        _ => {}
    }
    result
}
