//! Blocking sends and receives: while schedules are active they become non-blocking ones that the progress engine waits for.

use std::ffi::c_int;
use std::ptr;

use crate::ffi::dispatch::{ignored, wait};
use crate::ffi::functions::{self as mpi, Address, Int, Slot};
use crate::ffi::handle::Handle;
use crate::ffi::library;
use crate::progress;

/// Defines calls that start a non-blocking operation and wait for it.
macro_rules! waiting {
    ($($ours:ident = $native_blocking:ident, by $start:ident, ($($argument:ident: $type:ty),*) $($status:ident)?;)*) => {$(
        pub unsafe extern "C-unwind" fn $ours($($argument: $type,)* $($status: Address)?) -> c_int {
            if progress::is_empty() {
                // SAFETY: the program's arguments, passed on unchanged.
                return unsafe { mpi::$native_blocking($($argument,)* $($status)?) };
            }
            let mut request: Handle = 0;
            let slot: Slot = ptr::from_mut(&mut request).cast();
            // SAFETY: as above, and a place for a handle.
            let code = unsafe { mpi::$start($($argument,)* slot) };
            let status = [$($status,)? ignored()][0];
            if code == 0 { wait(slot, status) } else { code }
        }
    )*};
}

waiting! {
    MPI_Send = send, by isend, (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Ssend = ssend, by issend, (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Rsend = rsend, by irsend, (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    MPI_Recv = recv, by irecv, (into: Address, count: Int, datatype: Handle, from: Int, tag: Int, comm: Handle) status;
    MPI_Mrecv = mrecv, by imrecv, (into: Address, count: Int, datatype: Handle, message: Slot) status;
}

pub unsafe extern "C-unwind" fn MPI_Sendrecv_replace(
    buffer: Address,
    count: Int,
    datatype: Handle,
    to: Int,
    out_tag: Int,
    from: Int,
    in_tag: Int,
    comm: Handle,
    status: Address,
) -> c_int {
    // MPI has the non-blocking form since version 4.
    if progress::is_empty() || library::symbol(c"PMPI_Isendrecv_replace").is_none() {
        // SAFETY: the program's arguments, passed on unchanged.
        return unsafe { mpi::sendrecv_replace(buffer, count, datatype, to, out_tag, from, in_tag, comm, status) };
    }
    let mut request: Handle = 0;
    let slot: Slot = ptr::from_mut(&mut request).cast();
    // SAFETY: as above, and a place for a handle.
    let code = unsafe { mpi::isendrecv_replace(buffer, count, datatype, to, out_tag, from, in_tag, comm, slot) };
    if code == 0 { wait(slot, status) } else { code }
}

pub unsafe extern "C-unwind" fn MPI_Sendrecv(
    out: Address,
    out_count: Int,
    out_type: Handle,
    to: Int,
    out_tag: Int,
    into: Address,
    in_count: Int,
    in_type: Handle,
    from: Int,
    in_tag: Int,
    comm: Handle,
    status: Address,
) -> c_int {
    if progress::is_empty() {
        // SAFETY: the program's arguments, passed on unchanged.
        return unsafe {
            mpi::sendrecv(out, out_count, out_type, to, out_tag, into, in_count, in_type, from, in_tag, comm, status)
        };
    }
    let mut requests: [Handle; 2] = [0; 2];
    let slots: [Slot; 2] = requests.each_mut().map(|request| ptr::from_mut(request).cast());
    // SAFETY: as above, and a place for a handle.
    let code = unsafe { mpi::irecv(into, in_count, in_type, from, in_tag, comm, slots[0]) };
    if code != 0 {
        return code;
    }
    // SAFETY: as above.
    let code = unsafe { mpi::isend(out, out_count, out_type, to, out_tag, comm, slots[1]) };
    if code != 0 {
        return code;
    }
    let sent = wait(slots[1], ignored());
    let received = wait(slots[0], status);
    if sent == 0 { received } else { sent }
}
