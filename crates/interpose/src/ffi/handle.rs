//! Handles of MPI objects, as arguments.
//!
//! Handles are integers in MPICH's interface and pointers in the others. All are passed on as `usize`: on the machines
//! that are listed below an integer argument takes the place of a pointer, in registers as well as on the stack, and a
//! function that expects an `int` looks at the lower half only. Where handles lie in memory, as in arrays of requests,
//! `Abi::handle_bytes` is their size.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))))]
compile_error!("the calling convention of this machine was not looked at: see src/ffi/handle.rs");

/// A handle of an MPI object.
pub type Handle = usize;

/// A handle that is an integer, the way that calling conventions widen it.
pub const fn integer(handle: u32) -> Handle {
    handle as i32 as isize as usize
}
