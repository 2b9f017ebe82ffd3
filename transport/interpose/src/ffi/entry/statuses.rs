//! Statuses: source, tag and size of messages. If the program ignores statuses, MPI writes them to memory of this library.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use fishplate_profile::calls::Kind;

use super::Language;
use super::arguments::Arguments;
use crate::ffi::abi::Abi;
use crate::ffi::functions::{self as mpi, Handle};
use crate::ffi::library;

/// Variables whose addresses mean MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE in Fortran: of Open MPI, and MPICH's `mpi_f08`.
const IGNORED_IN_FORTRAN: [&CStr; 4] = [
    c"mpi_fortran_status_ignore_",
    c"mpi_fortran_statuses_ignore_",
    c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
    c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
];

pub struct Statuses {
    start: usize,
    abi: &'static Abi,
    /// Memory of the statuses, if the program ignores them.
    _own: Vec<u64>,
}

impl Statuses {
    /// The statuses of a call that writes at most `most`. Replaces its argument if the program ignores them.
    pub fn of(abi: &'static Abi, arguments: &mut Arguments, most: usize) -> Option<Statuses> {
        let at = arguments.call.position(b'u').or_else(|| arguments.call.position(b'U'))?;
        let given = arguments.values[at];
        let is_ignored = match arguments.language {
            Language::C => given == abi.status_ignore,
            _ => is_ignored_in_fortran(given),
        };
        let mut own = vec![0u64; if is_ignored { (most * abi.status_bytes).div_ceil(size_of::<u64>()) } else { 0 }];
        let start = if is_ignored { own.as_mut_ptr() as usize } else { given };
        arguments.values[at] = start;
        let statuses = Statuses { start, abi, _own: own };
        if matches!(arguments.call.kind, Kind::Receive | Kind::Exchange) && start != 0 {
            // An invalid source until MPI writes the status, which it does not if an error handler of the program returns.
            // SAFETY: a status that MPI will write.
            unsafe { statuses.integer(0, 0).write_unaligned(-1) };
        }
        Some(statuses)
    }

    fn address(&self, at: usize) -> mpi::Address {
        (self.start + at * self.abi.status_bytes) as mpi::Address
    }

    /// Pointer to an integer of a status: the source or the tag.
    fn integer(&self, at: usize, which: usize) -> *mut c_int {
        self.address(at).cast::<c_int>().wrapping_add(self.abi.status_source + which)
    }

    /// Source, tag and bytes of one of them.
    pub fn read(&self, at: usize) -> Option<(i32, i32, u64)> {
        // SAFETY: a status that MPI has written; both are integers in it.
        let integer = |which: usize| unsafe { self.integer(at, which).read_unaligned() };
        let mut bytes = 0i64;
        // SAFETY: a status that MPI has written, a datatype of MPI's, and a place for a number.
        let code = unsafe { mpi::Get_elements_x(self.address(at), self.abi.byte, &mut bytes) };
        (code == 0).then(|| (integer(0), integer(1), u64::try_from(bytes).unwrap_or(0)))
    }

    pub fn is_cancelled(&self, at: usize) -> bool {
        let mut flag = 0;
        // SAFETY: a status that MPI has written, and a place for a number.
        let code = unsafe { mpi::Test_cancelled(self.address(at), &mut flag) };
        code == 0 && flag != 0
    }

    /// Whether a request that is about to be freed ended by cancellation; `None` if it is not complete.
    pub fn is_cancelled_request(abi: &Abi, request: Handle) -> Option<bool> {
        let mut own = vec![0u64; abi.status_bytes.div_ceil(size_of::<u64>())];
        let status: mpi::Address = own.as_mut_ptr().cast();
        let (mut flag, mut cancelled) = (0, 0);
        // SAFETY: a request of the program's, and places for a number and a status.
        let code = unsafe { mpi::Request_get_status(request, &mut flag, status) };
        if code != 0 || flag == 0 {
            return None;
        }
        // SAFETY: a status that MPI has written, and a place for a number.
        let code = unsafe { mpi::Test_cancelled(status, &mut cancelled) };
        (code == 0).then_some(cancelled != 0)
    }
}

fn is_ignored_in_fortran(address: usize) -> bool {
    static ADDRESSES: OnceLock<Vec<usize>> = OnceLock::new();
    let find = || IGNORED_IN_FORTRAN.iter().filter_map(|name| library::variable(name)).map(|found| found as usize);
    ADDRESSES.get_or_init(|| find().collect()).contains(&address)
}
