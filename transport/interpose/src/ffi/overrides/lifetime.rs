//! Initialization and finalization, and the creation and freeing of communicators.

use std::ffi::c_int;

use crate::ffi::functions::{self as mpi, Address, Counts, Int, Out, Slot};
use crate::ffi::handle::Handle;
use crate::{deferred_free, process_state, progress};

pub unsafe extern "C-unwind" fn MPI_Init(argc: Address, argv: Address) -> c_int {
    // SAFETY: the program's arguments, passed on unchanged.
    let code = unsafe { mpi::init(argc, argv) };
    if code == 0 {
        process_state::start();
    }
    code
}

pub unsafe extern "C-unwind" fn MPI_Init_thread(argc: Address, argv: Address, required: Int, provided: Out) -> c_int {
    // SAFETY: as above.
    let code = unsafe { mpi::init_thread(argc, argv, required, provided) };
    if code == 0 {
        process_state::start();
    }
    code
}

pub unsafe extern "C-unwind" fn MPI_Finalize() -> c_int {
    process_state::stop();
    // SAFETY: the program has called it.
    unsafe { mpi::finalize() }
}

pub unsafe extern "C-unwind" fn MPI_Comm_free(comm: Slot) -> c_int {
    // SAFETY: as above.
    let code = unsafe { mpi::comm_free(comm) };
    deferred_free::free_deferred();
    code
}

pub unsafe extern "C-unwind" fn MPI_Comm_disconnect(comm: Slot) -> c_int {
    // SAFETY: as above.
    let code = unsafe { mpi::comm_disconnect(comm) };
    deferred_free::free_deferred();
    code
}

/// Defines calls that wait for other ranks, before which active schedules are completed.
macro_rules! finishing {
    ($($ours:ident = $native_blocking:ident ($($argument:ident: $type:ty),*);)*) => {$(
        pub unsafe extern "C-unwind" fn $ours($($argument: $type),*) -> c_int {
            progress::finish_all();
            // SAFETY: the program's arguments, passed on unchanged.
            unsafe { mpi::$native_blocking($($argument),*) }
        }
    )*};
}

finishing! {
    MPI_Comm_dup = comm_dup (comm: Handle, made: Slot);
    MPI_Comm_dup_with_info = comm_dup_with_info (comm: Handle, info: Handle, made: Slot);
    MPI_Comm_create = comm_create (comm: Handle, group: Handle, made: Slot);
    MPI_Comm_create_group = comm_create_group (comm: Handle, group: Handle, tag: Int, made: Slot);
    MPI_Comm_split = comm_split (comm: Handle, color: Int, key: Int, made: Slot);
    MPI_Comm_split_type = comm_split_type (comm: Handle, kind: Int, key: Int, info: Handle, made: Slot);
    MPI_Cart_create = cart_create (comm: Handle, dimensions: Int, lengths: Counts, periodic: Counts, reorder: Int,
                                   made: Slot);
    MPI_Win_fence = win_fence (assertion: Int, window: Handle);
}
