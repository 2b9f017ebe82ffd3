//! Handles of MPI objects, as arguments.
//!
//! Handles are integers in MPICH's ABI and pointers in the others. All are passed on as `usize`: on the architectures listed
//! below an integer argument occupies the space of a pointer, in registers as well as on the stack, and a function that
//! expects an `int` reads the lower half only. In memory, as in arrays of requests, their size is `Abi::handle_bytes`.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))))]
compile_error!("the calling convention of this machine was not looked at: see src/ffi/handle.rs");

/// A handle of an MPI object.
pub type Handle = usize;

/// An integer handle, widened as calling conventions do.
pub const fn integer(handle: u32) -> Handle {
    handle as i32 as isize as usize
}
