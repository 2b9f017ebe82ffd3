//! The functions that programs call, by MPI's names (`MPI_*`, and those of Fortran), and what becomes of a call.
//!
//! - `build.rs` writes the functions; [`enter`] lays their arguments out in memory, [`arguments`] reads them;
//! - [`target`] is the function that a call goes on to: the next one that has the name, as a rule the MPI's, or one of
//!   [`super::overrides`];
//! - [`observation`] is what a profile makes of a call.

mod arguments;
mod enter;
mod narrowing;
mod observation;
mod statuses;
mod target;
mod tracing;

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fishplate_profile::calls::{self, Kind};

use super::abi::Abi;
use super::clock;
use crate::profile::{self, Session};
use crate::trace;
use arguments::Arguments;
use enter::enter;
use observation::Observation;
use target::Target;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Entries of a call.
const LANGUAGES: usize = 5;

/// How a program calls; in the order of `build.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `MPI_Send`.
    C,
    /// `mpi_send_`.
    Fortran,
    /// `ompi_send_f`, which Open MPI's `mpi_f08` calls, with the arguments of `mpi_send_`.
    OpenMpiFortran,
    /// `mpi_send_f08_`: the same arguments again; in MPICH where there is no buffer among them.
    Fortran2008,
    /// `mpi_send_f08ts_`, where buffers are described by Fortran.
    Fortran2008Described,
}

impl Language {
    fn of(entry: usize) -> Language {
        use Language::{C, Fortran, Fortran2008, Fortran2008Described, OpenMpiFortran};
        [C, Fortran, OpenMpiFortran, Fortran2008, Fortran2008Described][entry % LANGUAGES]
    }

    /// Whether calls are recorded where they come in by this name. Where not, the function calls another one with a name
    /// of which this library hears: MPICH's functions for Fortran call those for C, but for the ones in `mpi_f08` that
    /// have no buffer; Open MPI's call each other.
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
    let call = &calls::table()[entry / LANGUAGES];
    // SAFETY: as above.
    let mut arguments = unsafe { Arguments::read(call, Language::of(entry), registers, stack) };
    let target = target::of(entry, caller, &mut arguments);
    let result = carry_out(&target, &mut arguments, caller);
    target.release();
    result
}

fn carry_out(target: &Target, arguments: &mut Arguments, caller: usize) -> usize {
    let function = target.function;
    if arguments.call.kind == Kind::Life {
        return life(function, arguments);
    }
    match (profile::get(), INSIDE.get()) {
        (None, _) | (Some(_), Inside::Call) => arguments.call(function),
        (Some(_), _) if !arguments.language.is_recorded() => {
            INSIDE.set(Inside::Fortran(caller));
            let result = arguments.call(function);
            INSIDE.set(Inside::Nothing);
            result
        }
        (Some(session), inside) => {
            let caller = if let Inside::Fortran(caller) = inside { caller } else { caller };
            INSIDE.set(Inside::Call);
            let result = record(session, arguments, target, caller);
            INSIDE.set(inside);
            result
        }
    }
}

/// Carries a call out, and records it.
fn record(session: &Session, arguments: &mut Arguments, target: &Target, caller: usize) -> usize {
    let Target { function, call, .. } = *target;
    let computed = session.tracer.is_some().then(trace::begin_call);
    let began = clock::monotonic();
    session.begin_call(call, caller, began);
    let observation = Observation::before(session, arguments);
    let result = arguments.call(function);
    let moment = profile::Moment { call, caller, began, ended: clock::monotonic(), site: 0 };
    let recorded = catch_unwind(AssertUnwindSafe(|| observation.after(session, arguments, result, moment, computed)));
    session.end_call();
    if computed.is_some() {
        trace::end_call();
    }
    if recorded.is_err() {
        // The program is not to suffer from it.
        fishplate_stderr::report("recording a profile has failed (see above); the program runs on without");
        profile::pause();
    }
    result
}

/// The begin and the end of MPI, and MPI_Pcontrol.
fn life(function: *mut c_void, arguments: &Arguments) -> usize {
    let is_outermost = arguments.language.is_recorded();
    match arguments.call.name.as_str() {
        "MPI_Abort" if is_outermost => profile::abort(arguments.second_int()),
        "MPI_Finalize" if is_outermost => profile::stop(),
        "MPI_Pcontrol" if arguments.first_int() == 0 => profile::pause(),
        "MPI_Pcontrol" => profile::resume(),
        _ => {}
    }
    let result = arguments.call(function);
    match arguments.call.name.as_str() {
        "MPI_Init" | "MPI_Init_thread" if is_outermost && !arguments.has_failed(result) => profile::start(),
        "MPI_Finalize" if is_outermost => profile::finish(),
        _ => {}
    }
    result
}
