//! The functions that programs call, by MPI's names (`MPI_*`, and those of Fortran), and what becomes of a call.
//!
//! - `build.rs` writes the functions; [`enter`] lays their arguments out in memory, [`arguments`] reads them;
//! - [`target`] is the function that a call goes on to: the next one that has the name, as a rule the MPI's, or one of
//!   [`super::overrides`];
//! - [`observation`] is what a profile makes of a call.

mod arguments;
mod enter;
mod observation;
mod statuses;
mod target;

use std::arch::naked_asm;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fishplate_profile::calls::{self, Kind};

use super::abi::Abi;
use super::clock;
use crate::profile::{self, Session};
use arguments::{Arguments, MAX_ARGUMENTS};
use enter::{IN_REGISTERS, enter};
use observation::Observation;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Entries of a call.
const LANGUAGES: usize = 3;

/// How a program calls; in the order of `build.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `MPI_Send`.
    C,
    /// `mpi_send_`.
    Fortran,
    /// `ompi_send_f`, which Open MPI's `mpi_f08` calls, with the arguments of `mpi_send_`.
    OpenMpiFortran,
}

impl Language {
    fn of(entry: usize) -> Language {
        [Language::C, Language::Fortran, Language::OpenMpiFortran][entry % LANGUAGES]
    }
}

/// What a thread is doing.
#[derive(Clone, Copy)]
enum Inside {
    /// The program.
    Nothing,
    /// A function for Fortran, which calls that for C; this is where the program called it.
    Fortran(usize),
    /// A call that is recorded: those that MPI makes for itself are not.
    Call,
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Nothing) };
}

/// A call of the program. `caller` is the address that it returns to.
///
/// # Safety
/// `registers` has the arguments that came in registers, `stack` what is on the stack from the further arguments on.
unsafe extern "C" fn dispatch(entry: usize, registers: *const usize, stack: *const usize, caller: usize) -> usize {
    let target = target::of(entry);
    let call = &calls::table()[entry / LANGUAGES];
    let mut values = [0; MAX_ARGUMENTS];
    for (at, value) in values.iter_mut().enumerate() {
        // SAFETY: there are that many registers. What is read of the stack beyond the arguments is of the callers of
        // this function, whose frames end with the first one's environment or thread; it is handed on and not looked at.
        *value = unsafe { if at < IN_REGISTERS { *registers.add(at) } else { *stack.add(at - IN_REGISTERS) } };
    }
    let mut arguments = Arguments { values, call, language: Language::of(entry) };
    if call.kind == Kind::Life {
        return life(target, &arguments);
    }
    match (profile::get(), INSIDE.get()) {
        (None, _) | (Some(_), Inside::Call) => arguments.call(target),
        (Some(_), _) if arguments.language != Language::C && !is_recorded_in_fortran() => {
            INSIDE.set(Inside::Fortran(caller));
            let result = arguments.call(target);
            INSIDE.set(Inside::Nothing);
            result
        }
        (Some(session), inside) => {
            let caller = if let Inside::Fortran(caller) = inside { caller } else { caller };
            INSIDE.set(Inside::Call);
            let result = record(session, &mut arguments, target, entry / LANGUAGES, caller);
            INSIDE.set(inside);
            result
        }
    }
}

/// Open MPI's functions for Fortran do not call those for C by names that can be taken over.
fn is_recorded_in_fortran() -> bool {
    Abi::get().is_some_and(Abi::fortran_is_apart)
}

/// Carries a call out, and records it.
fn record(
    session: &Session,
    arguments: &mut Arguments,
    target: *mut std::ffi::c_void,
    call: usize,
    caller: usize,
) -> usize {
    let began = clock::monotonic();
    session.begin_call(call, caller, began);
    let observation = Observation::before(session, arguments);
    let result = arguments.call(target);
    let moment = profile::Moment { call, caller, began, ended: clock::monotonic(), site: 0 };
    let recorded = catch_unwind(AssertUnwindSafe(|| observation.after(session, arguments, result, moment)));
    session.end_call();
    if recorded.is_err() {
        // The program is not to suffer from it.
        crate::diagnostics::report("recording a profile has failed (see above); the program runs on without");
        profile::pause();
    }
    result
}

/// The begin and the end of MPI, and MPI_Pcontrol.
fn life(target: *mut std::ffi::c_void, arguments: &Arguments) -> usize {
    // Fortran's functions may call those for C, which then are the ones that count.
    let is_outermost = arguments.language == Language::C || is_recorded_in_fortran();
    match arguments.call.name.as_str() {
        "MPI_Abort" if is_outermost => profile::abort(arguments.second_int()),
        "MPI_Finalize" if is_outermost => profile::stop(),
        "MPI_Pcontrol" if arguments.first_int() == 0 => profile::pause(),
        "MPI_Pcontrol" => profile::resume(),
        _ => {}
    }
    let result = arguments.call(target);
    match arguments.call.name.as_str() {
        "MPI_Init" | "MPI_Init_thread" if is_outermost && !arguments.has_failed(result) => profile::start(),
        "MPI_Finalize" if is_outermost => profile::finish(),
        _ => {}
    }
    result
}
