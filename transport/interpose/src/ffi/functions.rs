//! The functions of the MPI library, by their names in the profiling interface.
//!
//! All are unsafe as in C: buffers must have the size of counts and datatypes and stay valid until the operation is complete,
//! handles must be valid, and pointers must point to valid values.
//!
//! Handles are integers in MPICH's ABI and pointers in the others. All are passed on as `usize`: on the architectures listed
//! below an integer argument occupies the space of a pointer, in registers as well as on the stack, and a function that
//! expects an `int` reads the lower half only. In memory, as in arrays of requests, their size is `Abi::handle_bytes`.

#![allow(non_snake_case)]

use std::ffi::{CStr, c_int, c_void};

use super::library;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))))]
compile_error!("the calling convention of this machine was not looked at: see src/ffi/functions.rs");

/// A handle of an MPI object.
pub type Handle = usize;

/// An integer handle, widened as calling conventions do.
pub const fn integer(handle: u32) -> Handle {
    handle as i32 as isize as usize
}

/// A buffer or any other pointer.
pub type Address = *mut c_void;
/// An array of counts or displacements.
pub type Counts = *const c_int;
/// Pointer to a handle.
pub type Slot = *mut c_void;
pub type Int = c_int;
/// Pointer to an integer for a result.
pub type Out = *mut c_int;

/// Defines functions that call those of the MPI library, by their names without `PMPI_`.
macro_rules! functions {
    ($($name:ident ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`MPI_", stringify!($name), "` of the MPI library.")]
        pub unsafe fn $name($($argument: $type),*) -> std::ffi::c_int {
            use std::{ffi::c_void, mem::transmute, ptr, sync::atomic::AtomicPtr};
            static CACHE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            let symbol = const { $crate::ffi::functions::symbol(concat!("PMPI_", stringify!($name), "\0")) };
            let address = $crate::ffi::library::function(&CACHE, symbol);
            // SAFETY: MPI's function of this name takes these arguments; see above for handles.
            let function: unsafe extern "C-unwind" fn($($type),*) -> std::ffi::c_int = unsafe { transmute(address) };
            // SAFETY: the caller keeps to MPI's contract.
            unsafe { function($($argument),*) }
        }
    )*};
}
pub(super) use functions;

pub(super) const fn symbol(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(symbol) => symbol,
        Err(_) => panic!("a name ends with a NUL"),
    }
}

/// The major version of the standard binary interface, if the library has it.
pub fn abi_version() -> Option<c_int> {
    library::symbol(c"PMPI_Abi_get_version")?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: it may be called at any time, and writes two integers.
    (unsafe { Abi_get_version(&mut major, &mut minor) } == 0).then_some(major)
}

/// Whether MPI was initialized in this process, even if it has been finalized since.
pub fn is_initialized() -> bool {
    let mut flag = 0;
    // SAFETY: it may be called at any time, and writes an integer.
    library::symbol(c"PMPI_Initialized").is_some() && unsafe { Initialized(&mut flag) } == 0 && flag != 0
}

functions! {
    Abi_get_version (major: Out, minor: Out);
    Initialized (flag: Out);
    Abort (comm: Handle, code: Int);
    Error_class (code: Int, class: Out);
    Get_processor_name (name: Address, length: Out);

    Comm_rank (comm: Handle, rank: Out);
    Comm_size (comm: Handle, size: Out);
    Comm_remote_size (comm: Handle, size: Out);
    Comm_remote_group (comm: Handle, group: Slot);
    Comm_get_name (comm: Handle, name: Address, length: Out);
    Topo_test (comm: Handle, status: Out);
    Cartdim_get (comm: Handle, dimensions: Out);
    Graph_neighbors_count (comm: Handle, rank: Int, neighbors: Out);
    Dist_graph_neighbors_count (comm: Handle, sources: Out, destinations: Out, weighted: Out);
    Cart_shift (comm: Handle, dimension: Int, by: Int, source: Out, destination: Out);
    Graph_neighbors (comm: Handle, rank: Int, most: Int, neighbors: Out);
    Dist_graph_neighbors (comm: Handle, sources_most: Int, sources: Out, weights_in: Out, destinations_most: Int,
                          destinations: Out, weights_out: Out);
    Get_library_version (text: Address, length: Out);
    Get_elements_x (status: Address, datatype: Handle, count: *mut i64);
    Comm_get_parent (parent: Slot);
    Group_from_session_pset (session: Handle, name: Address, group: Slot);
    Group_rank (group: Handle, rank: Out);
    Group_size (group: Handle, size: Out);
    Comm_test_inter (comm: Handle, flag: Out);
    Comm_group (comm: Handle, group: Slot);
    Comm_create (comm: Handle, group: Handle, attached: Slot);
    Comm_split (comm: Handle, color: Int, key: Int, attached: Slot);
    Comm_free (comm: Slot);
    Comm_set_errhandler (comm: Handle, handler: Handle);
    Comm_call_errhandler (comm: Handle, code: Int);
    Comm_create_keyval (copy: Address, delete: Address, keyval: Out, extra: Address);
    Comm_get_attr (comm: Handle, keyval: Int, value: Address, flag: Out);
    Comm_delete_attr (comm: Handle, keyval: Int);
    Comm_set_attr (comm: Handle, keyval: Int, value: Address);
    Group_translate_ranks (from: Handle, n: Int, ranks: Counts, to: Handle, found: Out);
    Group_free (group: Slot);

    Type_size (datatype: Handle, size: Out);
    Type_size_x (datatype: Handle, size: *mut i64);
    Type_get_extent (datatype: Handle, lower: *mut isize, extent: *mut isize);
    Type_get_envelope (datatype: Handle, integers: Out, addresses: Out, types: Out, combiner: Out);
    Type_dup (datatype: Handle, attached: Slot);
    Type_free (datatype: Slot);
    Pack (from: Address, count: Int, datatype: Handle, into: Address, size: Int, position: Out, comm: Handle);
    Unpack (from: Address, size: Int, position: Out, into: Address, count: Int, datatype: Handle, comm: Handle);
    Op_commutative (operation: Handle, commutes: Out);
    Reduce_local (from: Address, into: Address, count: Int, datatype: Handle, operation: Handle);

    Grequest_start (query: Address, free: Address, cancel: Address, extra: Address, request: Slot);
    Grequest_complete (request: Handle);
    Status_set_elements (status: Address, datatype: Handle, count: Int);
    Test_cancelled (status: Address, flag: Out);
    Status_set_cancelled (status: Address, flag: Int);

    Cancel (request: Slot);
    Test (request: Slot, flag: Out, status: Address);
    Testsome (count: Int, requests: Slot, found: Out, indices: Out, statuses: Address);
    Request_get_status (request: Handle, flag: Out, status: Address);

    Isend (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle, request: Slot);
    Irecv (into: Address, count: Int, datatype: Handle, from: Int, tag: Int, comm: Handle, request: Slot);
}
