//! Differences between the ABIs of MPI libraries: size of handles, and values of constants.

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

use fishplate_collectives::Library;

use super::functions::{self, Handle, integer};
use super::library;

/// An application binary interface. Constants without a comment have the names of MPI's.
pub struct Abi {
    /// Size of a handle in memory.
    pub handle_bytes: usize,
    pub comm_world: Handle,
    pub comm_null: Handle,
    pub byte: Handle,
    pub datatype_null: Handle,
    pub op_null: Handle,
    /// Open MPI's handle of requests that are complete from the start; MPI_Testsome does not report it.
    request_empty: Option<Handle>,
    pub errors_return: Handle,
    pub in_place: usize,
    /// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
    pub status_ignore: usize,
    pub status_bytes: usize,
    /// Index of MPI_SOURCE among the integers of a status; MPI_TAG follows.
    pub status_source: usize,
    /// MPI_ANY_SOURCE; other negative ranks mean no process.
    pub any_source: c_int,
    pub root: c_int,
    /// MPI_ERR_TRUNCATE.
    pub error_truncate: c_int,
    /// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH.
    pub topologies: [c_int; 3],
    pub combiner_named: c_int,
    /// MPI_ERR_OTHER.
    pub error_other: c_int,
    operations: Operations,
}

/// How to distinguish predefined operations from the user's.
enum Operations {
    /// Predefined if `handle & mask == value`.
    Bits { mask: Handle, value: Handle },
    /// The handles of all predefined operations.
    These(Vec<Handle>),
}

/// MPI_UNDEFINED in all ABIs.
pub const UNDEFINED: c_int = -32766;

impl Abi {
    /// The ABI of this process's MPI library; `None` if it is unknown.
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
        // All libraries with MPICH's ABI, of any vendor, have this extension.
        library::symbol(c"PMPIX_Grequest_start").map(|_| MPICH)
    }

    /// Open MPI's handles are addresses of its variables. Most other constants are those that the standard took over.
    fn open_mpi() -> Option<Abi> {
        let address = |name: &CStr| library::variable(name).map(|address| address as Handle);
        let operations =
            ["max", "min", "sum", "prod", "land", "band", "lor", "bor", "lxor", "bxor", "maxloc", "minloc"];
        let operation = |name: &&str| address(&CString::new(format!("ompi_mpi_op_{name}")).ok()?);
        Some(Abi {
            comm_world: address(c"ompi_mpi_comm_world")?,
            comm_null: address(c"ompi_mpi_comm_null")?,
            byte: address(c"ompi_mpi_byte")?,
            datatype_null: address(c"ompi_mpi_datatype_null")?,
            op_null: address(c"ompi_mpi_op_null")?,
            request_empty: address(c"ompi_request_empty"),
            errors_return: address(c"ompi_mpi_errors_return")?,
            status_bytes: 24,
            topologies: [1, 2, 3],
            combiner_named: 0,
            operations: Operations::These(operations.iter().filter_map(operation).collect()),
            ..STANDARD
        })
    }

    /// Which implementation of collective operations the MPI has. MPICH is recognized by its extension, which exists in both of
    /// its ABIs.
    pub fn library(&self) -> Library {
        if library::symbol(c"PMPIX_Grequest_start").is_some() { Library::Mpich } else { Library::Other }
    }

    /// Whether an operation is predefined.
    pub fn is_own_operation(&self, operation: Handle) -> bool {
        match &self.operations {
            Operations::Bits { mask, value } => operation & mask == *value,
            Operations::These(these) => these.contains(&operation),
        }
    }

    /// Whether a request just created by MPI is complete and will never be reported by a test.
    pub fn is_complete(&self, request: Handle) -> bool {
        self.request_empty == Some(request)
    }

    /// Whether several requests may share this handle: MPICH has special handles for operations that are complete when the call
    /// returns.
    pub fn is_shared_request(&self, request: Handle) -> bool {
        self.is_complete(request) || !self.is_open_mpi() && request as u32 >> 30 == 1
    }

    /// Whether it is the ABI of Open MPI.
    pub fn is_open_mpi(&self) -> bool {
        self.request_empty.is_some()
    }

    /// A handle passed as an argument, with the undefined upper half cleared where handles are integers.
    pub fn clean(&self, raw: Handle) -> Handle {
        if self.handle_bytes == size_of::<c_int>() { integer(raw as u32) } else { raw }
    }
}

/// The ABI of MPICH, since 3.1 also of Intel MPI, MVAPICH and others; from its `mpi.h`.
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
    // The two highest bits are the kind of a handle; 01 is predefined.
    operations: Operations::Bits { mask: 0xc000_0000, value: 0x4000_0000 },
};

/// The ABI of the MPI standard, version 5, chapter "Application Binary Interface".
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
    // Predefined handles fit in ten bits; others are addresses.
    operations: Operations::Bits { mask: !0x3ff, value: 0 },
};
