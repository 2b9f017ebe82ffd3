//! Starts an MPI library for once, as a program of one rank would: loads it, calls `MPI_Init` and `MPI_Finalize`. So nobody
//! needs a compiler to see whether an MPI starts, and what it loads.
//!
//! All MPI libraries take equal arguments here: pointers that may be null, or to memory of ours.
//! An MPI that cannot start often ends the process; so callers start a process for it.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod sys;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use sys::Library;

/// An MPI library that has been started and ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The libfabric that it has loaded: its file. None where it has none, or one inside of itself.
    pub libfabric: Option<String>,
    /// The version of that: `1.17`.
    pub libfabric_version: Option<String>,
}

/// Starts the library and ends it.
///
/// # Errors
/// The failing function, with its error code.
pub fn start(library: &Library) -> Result<Started, String> {
    let check = |what: &str, code: i32| if code == 0 { Ok(()) } else { Err(format!("{what} returned {code}")) };
    check("MPI_Init", library.init()?)?;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let libfabric = libfabric_in(&maps);
    let version = libfabric.as_deref().and_then(|file| sys::libfabric_version(Path::new(file)));
    check("MPI_Finalize", library.finalize()?)?;
    Ok(Started {
        libfabric,
        // FI_VERSION of rdma/fabric.h.
        libfabric_version: version.map(|version| format!("{}.{}", version >> 16, version & 0xffff)),
    })
}

/// The file of libfabric in the text of /proc/self/maps.
fn libfabric_in(maps: &str) -> Option<String> {
    let files = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let is_libfabric =
        |file: &&str| file.rsplit('/').next().is_some_and(|name| name.starts_with("libfabric") && name.contains(".so"));
    files.into_iter().find(is_libfabric).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfabric_is_found_by_its_file() {
        let maps = "7f00-7f01 r-xp 00000000 fe:00 12 /usr/lib/libmpi.so.12\n\
                    7f01-7f02 r--p 00000000 00:00 0\n\
                    7f02-7f03 r-xp 00000000 fe:00 13 /opt/my mpi/lib/libfabric.so.1.29.0\n";
        assert_eq!(libfabric_in(maps).as_deref(), Some("/opt/my mpi/lib/libfabric.so.1.29.0"));
        assert_eq!(libfabric_in("7f00-7f01 r-xp 0 fe:00 1 /libfabric.so.1/libmpi.so.12\n"), None);
    }

    #[test]
    fn a_file_that_is_no_mpi_library_is_reported() {
        let error = Library::open(Path::new("/no/such/libmpi.so")).err().unwrap();
        assert!(error.contains("/no/such/libmpi.so"), "{error}");
        let libc = Library::open(Path::new("libc.so.6")).unwrap();
        assert!(libc.version().is_err());
        let error = start(&libc).unwrap_err();
        assert!(error.contains("libc.so.6 has no function MPI_Init"), "{error}");
    }
}
