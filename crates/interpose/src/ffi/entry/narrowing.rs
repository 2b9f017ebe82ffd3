//! Calls with large counts (`MPI_..._c`) as calls with counts that are integers. Some programs use the large ones always,
//! as mpi4py does, and some MPIs lack them.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::Mutex;

use fishplate_profile::calls::{Call, Form, Kind};

use super::arguments::Arguments;
use super::significance::Part;
use crate::ffi::abi::Abi;
use crate::sync::lock;

/// Arrays of calls that return before their operations are complete. MPI asks the caller to leave them alone until then;
/// the MPIs that lack large counts read them when the operation starts only, and many more operations than this are never
/// under way at once.
const KEPT: usize = 4096;
static ARRAYS: Mutex<VecDeque<Vec<c_int>>> = Mutex::new(VecDeque::new());

/// Numbers of elements that are no arrays.
const COUNTS: &[u8] = b"nNxXeE";
/// Arrays of them; displacements follow those that have some.
const ARRAYS_OF_COUNTS: &[u8] = b"vVR";

/// Whether a call has arrays of counts that it needs after it has returned.
pub fn has_lasting_arrays(call: &Call) -> bool {
    call.form != Form::Plain && call.arguments.iter().any(|argument| ARRAYS_OF_COUNTS.contains(argument))
}

/// Changes the arguments of a call to those of `plain`, if all its counts fit. The result holds what they point to.
pub fn narrow(arguments: &mut Arguments, plain: &'static Call) -> Option<Vec<Vec<c_int>>> {
    let (abi, letters) = (Abi::get()?, &arguments.call.arguments);
    // What does not count on this rank may be anything.
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

/// The displacements of MPI_Neighbor_alltoallw are MPI_Aint in both of its forms.
fn has_wide_displacements(call: &Call) -> bool {
    call.kind == Kind::Neighbor && call.arguments.contains(&b'y')
}

/// Keeps arrays for a call that has returned before its operation is complete.
pub fn keep(arrays: Vec<Vec<c_int>>) {
    let mut kept = lock(&ARRAYS);
    kept.extend(arrays);
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

/// How long an array is: a number for each rank that messages go to or come from.
fn length(arguments: &Arguments, array: u8) -> Option<usize> {
    let abi = Abi::get()?;
    let comm = arguments.comm(abi, b'c')?;
    match (arguments.call.kind, array) {
        (Kind::Neighbor, b'v') => comm.neighbors(abi).ok().map(|(_, destinations)| destinations),
        (Kind::Neighbor, _) => comm.neighbors(abi).ok().map(|(sources, _)| sources),
        (_, b'R') => comm.size().ok(),
        _ => comm.remote_size().ok(),
    }
}

fn narrowed(wide: *const i64, length: usize) -> Option<Vec<c_int>> {
    // SAFETY: MPI asks for an array with a number for each rank.
    (0..length).map(|at| c_int::try_from(unsafe { *wide.add(at) }).ok()).collect()
}
