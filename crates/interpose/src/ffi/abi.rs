//! What differs between the binary interfaces of MPI libraries: size of handles, and values of constants.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use fishplate_collectives::Library;

use super::handle::{Handle, integer};
use super::{functions, library};

/// A binary interface.
pub struct Abi {
    /// Size of a handle in memory.
    pub handle_bytes: usize,
    /// MPI_COMM_WORLD.
    pub comm_world: Handle,
    /// MPI_COMM_NULL.
    pub comm_null: Handle,
    /// MPI_BYTE.
    pub byte: Handle,
    /// MPI_DATATYPE_NULL.
    pub datatype_null: Handle,
    /// MPI_OP_NULL.
    pub op_null: Handle,
    /// Open MPI's request of what is complete from the start; MPI_Testsome does not report it.
    request_empty: Option<Handle>,
    /// MPI_ERRORS_RETURN.
    pub errors_return: Handle,
    /// MPI_IN_PLACE.
    pub in_place: usize,
    /// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
    pub status_ignore: usize,
    /// Size of a status.
    pub status_bytes: usize,
    /// Which integer of a status is MPI_SOURCE; MPI_TAG follows.
    pub status_source: usize,
    /// MPI_ANY_SOURCE; other ranks that are negative are nobody.
    pub any_source: c_int,
    /// MPI_ROOT.
    pub root: c_int,
    /// MPI_ERR_TRUNCATE.
    pub error_truncate: c_int,
    /// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH.
    pub topologies: [c_int; 3],
    /// MPI_COMBINER_NAMED.
    pub combiner_named: c_int,
    /// MPI_ERR_OTHER.
    pub error_other: c_int,
    /// The operations that MPI defines.
    operations: Operations,
}

/// How to tell the operations that MPI defines from the user's.
enum Operations {
    /// By these bits.
    Bits { mask: Handle, value: Handle },
    /// They are these.
    These(Vec<Handle>),
}

/// MPI_UNDEFINED of all interfaces.
pub const UNDEFINED: c_int = -32766;

impl Abi {
    /// Of this process's MPI library; nothing if it is none of those that we know.
    pub fn get() -> Option<&'static Abi> {
        static ABI: OnceLock<Option<Abi>> = OnceLock::new();
        ABI.get_or_init(Abi::find).as_ref()
    }

    fn find() -> Option<Abi> {
        if functions::abi_version().is_some_and(|major| major > 0) {
            return Some(STANDARD);
        }
        if library::symbol(c"ompi_mpi_comm_world").is_some() {
            return Abi::open_mpi();
        }
        // Libraries with MPICH's interface, whatever their vendors: all have this extension.
        library::symbol(c"PMPIX_Grequest_start").map(|_| MPICH)
    }

    /// Open MPI's handles are addresses of its variables.
    fn open_mpi() -> Option<Abi> {
        let address = |name: &CStr| library::variable(name).map(|address| address as Handle);
        let operations = [
            c"ompi_mpi_op_max",
            c"ompi_mpi_op_min",
            c"ompi_mpi_op_sum",
            c"ompi_mpi_op_prod",
            c"ompi_mpi_op_land",
            c"ompi_mpi_op_band",
            c"ompi_mpi_op_lor",
            c"ompi_mpi_op_bor",
            c"ompi_mpi_op_lxor",
            c"ompi_mpi_op_bxor",
            c"ompi_mpi_op_maxloc",
            c"ompi_mpi_op_minloc",
        ];
        Some(Abi {
            handle_bytes: size_of::<usize>(),
            comm_world: address(c"ompi_mpi_comm_world")?,
            comm_null: address(c"ompi_mpi_comm_null")?,
            byte: address(c"ompi_mpi_byte")?,
            datatype_null: address(c"ompi_mpi_datatype_null")?,
            op_null: address(c"ompi_mpi_op_null")?,
            request_empty: address(c"ompi_request_empty"),
            errors_return: address(c"ompi_mpi_errors_return")?,
            in_place: 1,
            status_ignore: 0,
            status_bytes: 24,
            status_source: 0,
            any_source: -1,
            root: -4,
            error_truncate: 15,
            topologies: [1, 2, 3],
            combiner_named: 0,
            error_other: 16,
            operations: Operations::These(operations.iter().filter_map(|name| address(name)).collect()),
        })
    }

    /// Whose collective operations the MPI has. MPICH's extension tells, which is there in both of its interfaces.
    pub fn library(&self) -> Library {
        if library::symbol(c"PMPIX_Grequest_start").is_some() { Library::Mpich } else { Library::Other }
    }

    /// Whether MPI defines an operation.
    pub fn is_own_operation(&self, operation: Handle) -> bool {
        match &self.operations {
            Operations::Bits { mask, value } => operation & mask == *value,
            Operations::These(these) => these.contains(&operation),
        }
    }

    /// Whether a request that MPI has just made is complete, and no test will say so.
    pub fn is_complete(&self, request: Handle) -> bool {
        self.request_empty == Some(request)
    }

    /// Whether several requests may have a handle at once: MPICH has handles of its own for what is complete when the call
    /// returns.
    pub fn is_shared_request(&self, request: Handle) -> bool {
        self.is_complete(request) || !self.is_open_mpi() && request as u32 >> 30 == 1
    }

    /// Whether it is Open MPI's own.
    pub fn is_open_mpi(&self) -> bool {
        self.request_empty.is_some()
    }

    /// A handle as it came in an argument, of which the upper half means nothing where handles are integers.
    pub fn clean(&self, raw: Handle) -> Handle {
        if self.handle_bytes == size_of::<c_int>() { integer(raw as u32) } else { raw }
    }
}

/// MPICH's, since 3.1 also that of Intel MPI, MVAPICH and others; from its `mpi.h`.
const MPICH: Abi = Abi {
    handle_bytes: size_of::<c_int>(),
    comm_world: integer(0x4400_0000),
    comm_null: integer(0x0400_0000),
    byte: integer(0x4c00_010d),
    datatype_null: integer(0x0c00_0000),
    op_null: integer(0x1800_0000),
    request_empty: None,
    errors_return: integer(0x5400_0001),
    in_place: usize::MAX,
    status_ignore: 1,
    status_bytes: 20,
    status_source: 2,
    any_source: -2,
    root: -3,
    error_truncate: 14,
    topologies: [2, 1, 3],
    combiner_named: 1,
    error_other: 15,
    // The two highest bits say what kind of handle it is; 01 is what MPI defines.
    operations: Operations::Bits { mask: 0xc000_0000, value: 0x4000_0000 },
};

/// That of the MPI standard, version 5, chapter "Application Binary Interface".
const STANDARD: Abi = Abi {
    handle_bytes: size_of::<usize>(),
    comm_world: 0x101,
    comm_null: 0x100,
    byte: 0x247,
    datatype_null: 0x200,
    op_null: 0x20,
    request_empty: None,
    errors_return: 0x143,
    in_place: 1,
    status_ignore: 0,
    status_bytes: 32,
    status_source: 0,
    any_source: -1,
    root: -4,
    error_truncate: 15,
    topologies: [211, 212, 213],
    combiner_named: 101,
    error_other: 16,
    // Handles that MPI defines fit in ten bits; others are addresses.
    operations: Operations::Bits { mask: !0x3ff, value: 0 },
};
