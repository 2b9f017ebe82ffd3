//! The functions of the MPI library, by their names in the profiling interface.
//!
//! All are unsafe as in C: buffers must have the size of counts and datatypes and stay valid until the operation is complete,
//! handles must be valid, and pointers must point to valid values.

use std::ffi::{c_int, c_void};

use super::handle::Handle;
use super::library;

/// A buffer or any other pointer.
pub type Address = *mut c_void;
/// An array of counts or displacements.
pub type Counts = *const c_int;
/// Pointer to a handle.
pub type Slot = *mut c_void;
pub type Int = c_int;
/// Pointer to an integer for a result.
pub type Out = *mut c_int;

/// Defines functions that call those of the MPI library.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("MPI's function of this name: ", stringify!($symbol), ".")]
        pub unsafe fn $name($($argument: $type),*) -> c_int {
            static CACHE: std::sync::atomic::AtomicPtr<c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
            let address = $crate::ffi::library::function(&CACHE, $symbol);
            // SAFETY: MPI's function of this name takes these arguments; see `handle` for handles.
            let function: unsafe extern "C-unwind" fn($($type),*) -> c_int = unsafe { std::mem::transmute(address) };
            // SAFETY: the caller keeps to MPI's contract.
            unsafe { function($($argument),*) }
        }
    )*};
}
pub(super) use functions;

/// The major version of the standard binary interface, if the library has it.
pub fn abi_version() -> Option<c_int> {
    let address = library::symbol(c"PMPI_Abi_get_version")?;
    // SAFETY: this is the function's type in the MPI standard.
    let function: unsafe extern "C" fn(Out, Out) -> c_int = unsafe { std::mem::transmute(address) };
    let (mut major, mut minor) = (0, 0);
    // SAFETY: it may be called at any time, and writes two integers.
    (unsafe { function(&mut major, &mut minor) } == 0).then_some(major)
}

/// Whether MPI was initialized in this process, even if it has been finalized since.
pub fn is_initialized() -> bool {
    let Some(address) = library::symbol(c"PMPI_Initialized") else { return false };
    // SAFETY: this is the function's type in the MPI standard.
    let function: unsafe extern "C" fn(Out) -> c_int = unsafe { std::mem::transmute(address) };
    let mut flag = 0;
    // SAFETY: it may be called at any time, and writes an integer.
    (unsafe { function(&mut flag) } == 0) && flag != 0
}

functions! {
    init = c"PMPI_Init" (argc: Address, argv: Address);
    init_thread = c"PMPI_Init_thread" (argc: Address, argv: Address, required: Int, provided: Out);
    finalize = c"PMPI_Finalize" ();
    abort = c"PMPI_Abort" (comm: Handle, code: Int);
    error_class = c"PMPI_Error_class" (code: Int, class: Out);
    get_processor_name = c"PMPI_Get_processor_name" (name: Address, length: Out);

    comm_rank = c"PMPI_Comm_rank" (comm: Handle, rank: Out);
    comm_size = c"PMPI_Comm_size" (comm: Handle, size: Out);
    comm_remote_size = c"PMPI_Comm_remote_size" (comm: Handle, size: Out);
    comm_remote_group = c"PMPI_Comm_remote_group" (comm: Handle, group: Slot);
    comm_get_name = c"PMPI_Comm_get_name" (comm: Handle, name: Address, length: Out);
    topo_test = c"PMPI_Topo_test" (comm: Handle, status: Out);
    cartdim_get = c"PMPI_Cartdim_get" (comm: Handle, dimensions: Out);
    graph_neighbors_count = c"PMPI_Graph_neighbors_count" (comm: Handle, rank: Int, neighbors: Out);
    dist_graph_neighbors_count = c"PMPI_Dist_graph_neighbors_count" (comm: Handle, sources: Out, destinations: Out,
                                                                     weighted: Out);
    cart_shift = c"PMPI_Cart_shift" (comm: Handle, dimension: Int, by: Int, source: Out, destination: Out);
    graph_neighbors = c"PMPI_Graph_neighbors" (comm: Handle, rank: Int, most: Int, neighbors: Out);
    dist_graph_neighbors = c"PMPI_Dist_graph_neighbors" (comm: Handle, sources_most: Int, sources: Out, weights_in: Out,
                                                         destinations_most: Int, destinations: Out, weights_out: Out);
    get_library_version = c"PMPI_Get_library_version" (text: Address, length: Out);
    get_elements_x = c"PMPI_Get_elements_x" (status: Address, datatype: Handle, count: *mut i64);
    comm_get_parent = c"PMPI_Comm_get_parent" (parent: Slot);
    group_from_session_pset = c"PMPI_Group_from_session_pset" (session: Handle, name: Address, group: Slot);
    group_rank = c"PMPI_Group_rank" (group: Handle, rank: Out);
    group_size = c"PMPI_Group_size" (group: Handle, size: Out);
    comm_test_inter = c"PMPI_Comm_test_inter" (comm: Handle, flag: Out);
    comm_group = c"PMPI_Comm_group" (comm: Handle, group: Slot);
    comm_create = c"PMPI_Comm_create" (comm: Handle, group: Handle, attached: Slot);
    comm_split = c"PMPI_Comm_split" (comm: Handle, color: Int, key: Int, attached: Slot);
    comm_dup = c"PMPI_Comm_dup" (comm: Handle, attached: Slot);
    comm_dup_with_info = c"PMPI_Comm_dup_with_info" (comm: Handle, info: Handle, attached: Slot);
    comm_create_group = c"PMPI_Comm_create_group" (comm: Handle, group: Handle, tag: Int, attached: Slot);
    comm_split_type = c"PMPI_Comm_split_type" (comm: Handle, kind: Int, key: Int, info: Handle, attached: Slot);
    cart_create = c"PMPI_Cart_create" (comm: Handle, dimensions: Int, lengths: Counts, periodic: Counts, reorder: Int,
                                       attached: Slot);
    win_fence = c"PMPI_Win_fence" (assertion: Int, window: Handle);
    comm_free = c"PMPI_Comm_free" (comm: Slot);
    comm_disconnect = c"PMPI_Comm_disconnect" (comm: Slot);
    comm_set_errhandler = c"PMPI_Comm_set_errhandler" (comm: Handle, handler: Handle);
    comm_call_errhandler = c"PMPI_Comm_call_errhandler" (comm: Handle, code: Int);
    comm_create_keyval = c"PMPI_Comm_create_keyval" (copy: Address, delete: Address, keyval: Out, extra: Address);
    comm_get_attr = c"PMPI_Comm_get_attr" (comm: Handle, keyval: Int, value: Address, flag: Out);
    comm_delete_attr = c"PMPI_Comm_delete_attr" (comm: Handle, keyval: Int);
    comm_set_attr = c"PMPI_Comm_set_attr" (comm: Handle, keyval: Int, value: Address);
    group_translate_ranks = c"PMPI_Group_translate_ranks" (from: Handle, n: Int, ranks: Counts, to: Handle, found: Out);
    group_free = c"PMPI_Group_free" (group: Slot);

    type_size = c"PMPI_Type_size" (datatype: Handle, size: Out);
    type_size_x = c"PMPI_Type_size_x" (datatype: Handle, size: *mut i64);
    type_get_extent = c"PMPI_Type_get_extent" (datatype: Handle, lower: *mut isize, extent: *mut isize);
    type_get_envelope = c"PMPI_Type_get_envelope" (datatype: Handle, integers: Out, addresses: Out, types: Out,
                                                   combiner: Out);
    type_dup = c"PMPI_Type_dup" (datatype: Handle, attached: Slot);
    type_free = c"PMPI_Type_free" (datatype: Slot);
    pack = c"PMPI_Pack" (from: Address, count: Int, datatype: Handle, into: Address, size: Int, position: Out,
                         comm: Handle);
    unpack = c"PMPI_Unpack" (from: Address, size: Int, position: Out, into: Address, count: Int, datatype: Handle,
                             comm: Handle);
    op_commutative = c"PMPI_Op_commutative" (operation: Handle, commutes: Out);
    reduce_local = c"PMPI_Reduce_local" (from: Address, into: Address, count: Int, datatype: Handle, operation: Handle);

    grequest_start = c"PMPI_Grequest_start" (query: Address, free: Address, cancel: Address, extra: Address,
                                             request: Slot);
    grequest_complete = c"PMPI_Grequest_complete" (request: Handle);
    status_set_elements = c"PMPI_Status_set_elements" (status: Address, datatype: Handle, count: Int);
    test_cancelled = c"PMPI_Test_cancelled" (status: Address, flag: Out);
    status_set_cancelled = c"PMPI_Status_set_cancelled" (status: Address, flag: Int);

    cancel = c"PMPI_Cancel" (request: Slot);
    wait = c"PMPI_Wait" (request: Slot, status: Address);
    waitall = c"PMPI_Waitall" (count: Int, requests: Slot, statuses: Address);
    waitany = c"PMPI_Waitany" (count: Int, requests: Slot, index: Out, status: Address);
    waitsome = c"PMPI_Waitsome" (count: Int, requests: Slot, found: Out, indices: Out, statuses: Address);
    test = c"PMPI_Test" (request: Slot, flag: Out, status: Address);
    testall = c"PMPI_Testall" (count: Int, requests: Slot, flag: Out, statuses: Address);
    testany = c"PMPI_Testany" (count: Int, requests: Slot, index: Out, flag: Out, status: Address);
    testsome = c"PMPI_Testsome" (count: Int, requests: Slot, found: Out, indices: Out, statuses: Address);
    request_get_status = c"PMPI_Request_get_status" (request: Handle, flag: Out, status: Address);

    send = c"PMPI_Send" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    ssend = c"PMPI_Ssend" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    rsend = c"PMPI_Rsend" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle);
    recv = c"PMPI_Recv" (into: Address, count: Int, datatype: Handle, from: Int, tag: Int, comm: Handle,
                         status: Address);
    mrecv = c"PMPI_Mrecv" (into: Address, count: Int, datatype: Handle, message: Slot, status: Address);
    probe = c"PMPI_Probe" (from: Int, tag: Int, comm: Handle, status: Address);
    mprobe = c"PMPI_Mprobe" (from: Int, tag: Int, comm: Handle, message: Slot, status: Address);
    iprobe = c"PMPI_Iprobe" (from: Int, tag: Int, comm: Handle, flag: Out, status: Address);
    improbe = c"PMPI_Improbe" (from: Int, tag: Int, comm: Handle, flag: Out, message: Slot, status: Address);
    sendrecv = c"PMPI_Sendrecv" (out: Address, out_count: Int, out_type: Handle, to: Int, out_tag: Int, into: Address,
                                 in_count: Int, in_type: Handle, from: Int, in_tag: Int, comm: Handle, status: Address);
    sendrecv_replace = c"PMPI_Sendrecv_replace" (buffer: Address, count: Int, datatype: Handle, to: Int, out_tag: Int,
                                                 from: Int, in_tag: Int, comm: Handle, status: Address);
    isend = c"PMPI_Isend" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle, request: Slot);
    issend = c"PMPI_Issend" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle,
                             request: Slot);
    irsend = c"PMPI_Irsend" (from: Address, count: Int, datatype: Handle, to: Int, tag: Int, comm: Handle,
                             request: Slot);
    irecv = c"PMPI_Irecv" (into: Address, count: Int, datatype: Handle, from: Int, tag: Int, comm: Handle,
                           request: Slot);
    imrecv = c"PMPI_Imrecv" (into: Address, count: Int, datatype: Handle, message: Slot, request: Slot);
    isendrecv_replace = c"PMPI_Isendrecv_replace" (buffer: Address, count: Int, datatype: Handle, to: Int, out_tag: Int,
                                                   from: Int, in_tag: Int, comm: Handle, request: Slot);
}
