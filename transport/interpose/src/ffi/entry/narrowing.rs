//! Converts calls with large counts (`MPI_..._c`) to calls with `int` counts. Some programs, such as mpi4py, always use large
//! counts, and some MPI libraries lack them.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::Mutex;

use fishplate_profile::calls::{Call, Form, Kind};

use super::arguments::Arguments;
use super::significance::Part;
use crate::ffi::abi::Abi;
use crate::sync::lock;

/// Number of converted arrays kept for calls that return before their operations are complete. MPI permits libraries to read
/// the arrays until then. Those that lack large counts read them only when the operation starts, and this many operations are
/// never active at one time.
const KEPT: usize = 4096;
static ARRAYS: Mutex<VecDeque<Vec<c_int>>> = Mutex::new(VecDeque::new());

/// Kinds of arguments that are single counts.
const COUNTS: &[u8] = b"nNxXeE";
/// Kinds of arguments that are arrays of counts; displacements follow if the call has any.
const ARRAYS_OF_COUNTS: &[u8] = b"vVR";

/// Whether a call has arrays of counts that must stay valid after it returns.
pub fn has_lasting_arrays(call: &Call) -> bool {
    call.form != Form::Plain && call.arguments.iter().any(|argument| ARRAYS_OF_COUNTS.contains(argument))
}

/// Converts the arguments of a call to those of `plain`, if all counts fit in an `int`. Returns the arrays that the new
/// arguments point to.
pub fn narrow(arguments: &mut Arguments, plain: &'static Call) -> Option<Vec<Vec<c_int>>> {
    let (abi, letters) = (Abi::get()?, &arguments.call.arguments);
    // Arguments that are not significant on this rank may be invalid.
    let part = match (arguments.has(b'o') || arguments.has(b'b'), arguments.comm(abi, b'c')) {
        (true, Some(comm)) => Some(Part::of(abi, arguments, comm.rank().ok()?, comm.is_inter().ok()?)),
        _ => None,
    };
    let counts = |at: usize| part.is_none_or(|part| part.has(letters[at]));
    let fits = |at: usize| !counts(at) || c_int::try_from(arguments.values[at] as i64).is_ok();
    if !(0..letters.len()).all(|at| !COUNTS.contains(&letters[at]) || fits(at)) {
        return None;
    }
    let mut arrays = Vec::new();
    let mut values = arguments.values;
    for at in (0..letters.len()).filter(|at| ARRAYS_OF_COUNTS.contains(&letters[*at]) && counts(*at)) {
        let length = length(arguments, letters[at])?;
        let narrow_displacements = letters[at] != b'R' && !has_wide_displacements(arguments.call);
        for place in if narrow_displacements { at..at + 2 } else { at..at + 1 } {
            let wide = arguments.values[place];
            if wide == 0 {
                continue;
            }
            let array = narrowed(wide as *const i64, length)?;
            values[place] = array.as_ptr() as usize;
            arrays.push(array);
        }
    }
    arguments.values = values;
    arguments.call = plain;
    Some(arrays)
}

/// Whether displacements are MPI_Aint in both forms: in MPI_Neighbor_alltoallw.
fn has_wide_displacements(call: &Call) -> bool {
    call.kind == Kind::Neighbor && call.arguments.contains(&b'y')
}

/// Keeps arrays for a call that returned before its operation is complete.
pub fn keep(arrays: Vec<Vec<c_int>>) {
    let mut kept = lock(&ARRAYS);
    kept.extend(arrays);
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

/// Length of an array: a count for each rank of the remote group or each neighbour.
fn length(arguments: &Arguments, array: u8) -> Option<usize> {
    let abi = Abi::get()?;
    let comm = arguments.comm(abi, b'c')?;
    match (arguments.call.kind, array) {
        (Kind::Neighbor, b'v') => comm.neighbors(abi).ok().map(|[_, destinations]| destinations.len()),
        (Kind::Neighbor, _) => comm.neighbors(abi).ok().map(|[sources, _]| sources.len()),
        (_, b'R') => comm.size().ok(),
        _ => comm.remote_size().ok(),
    }
}

fn narrowed(wide: *const i64, length: usize) -> Option<Vec<c_int>> {
    // SAFETY: MPI requires an array with a count for each rank.
    (0..length).map(|at| c_int::try_from(unsafe { *wide.add(at) }).ok()).collect()
}
