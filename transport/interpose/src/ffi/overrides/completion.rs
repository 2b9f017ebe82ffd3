//! Calls that wait for requests or test them: active schedules make progress in all of them.

use std::ffi::c_int;

use crate::ffi::functions::{self as mpi, Address, Int, Out, Slot};
use crate::ffi::handle::Handle;
use crate::progress;

/// Defines calls that wait: while schedules are active they poll by testing instead.
macro_rules! waiting {
    ($($ours:ident = $native_blocking:ident ($($argument:ident: $type:ty),*), by |$flag:ident| $look:expr;)*) => {$(
        pub unsafe extern "C-unwind" fn $ours($($argument: $type),*) -> c_int {
            if progress::is_empty() {
                // SAFETY: the program's arguments, passed on unchanged.
                return unsafe { mpi::$native_blocking($($argument),*) };
            }
            // SAFETY: as above; the flag is our own.
            progress::wait_for(|$flag| unsafe { $look })
        }
    )*};
}

/// Defines calls that test once.
macro_rules! looking {
    ($($ours:ident = $native_blocking:ident ($($argument:ident: $type:ty),*);)*) => {$(
        pub unsafe extern "C-unwind" fn $ours($($argument: $type),*) -> c_int {
            progress::advance();
            // SAFETY: the program's arguments, passed on unchanged.
            unsafe { mpi::$native_blocking($($argument),*) }
        }
    )*};
}

waiting! {
    MPI_Wait = wait (request: Slot, status: Address), by |flag| mpi::test(request, flag, status);
    MPI_Waitall = waitall (count: Int, requests: Slot, statuses: Address),
        by |flag| mpi::testall(count, requests, flag, statuses);
    MPI_Waitany = waitany (count: Int, requests: Slot, index: Out, status: Address),
        by |flag| mpi::testany(count, requests, index, flag, status);
    MPI_Waitsome = waitsome (count: Int, requests: Slot, found: Out, indices: Out, statuses: Address), by |flag| {
        let code = mpi::testsome(count, requests, found, indices, statuses);
        // None, or MPI_UNDEFINED if there is no active request.
        *flag = c_int::from(*found != 0);
        code
    };
    MPI_Probe = probe (from: Int, tag: Int, comm: Handle, status: Address),
        by |flag| mpi::iprobe(from, tag, comm, flag, status);
    MPI_Mprobe = mprobe (from: Int, tag: Int, comm: Handle, message: Slot, status: Address),
        by |flag| mpi::improbe(from, tag, comm, flag, message, status);
}

looking! {
    MPI_Test = test (request: Slot, flag: Out, status: Address);
    MPI_Testall = testall (count: Int, requests: Slot, flag: Out, statuses: Address);
    MPI_Testany = testany (count: Int, requests: Slot, index: Out, flag: Out, status: Address);
    MPI_Testsome = testsome (count: Int, requests: Slot, found: Out, indices: Out, statuses: Address);
    MPI_Request_get_status = request_get_status (request: Handle, flag: Out, status: Address);
    MPI_Iprobe = iprobe (from: Int, tag: Int, comm: Handle, flag: Out, status: Address);
    MPI_Improbe = improbe (from: Int, tag: Int, comm: Handle, flag: Out, message: Slot, status: Address);
}
