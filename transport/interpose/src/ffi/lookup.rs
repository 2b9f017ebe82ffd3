//! Interposes `dlsym`: programs that look up MPI's functions in a library that they opened, such as Python's ctypes, Julia and
//! plug-ins, get the functions of this library, like programs linked with MPI.
//!
//! The result of the C library's `dlsym` depends on its caller. So calls are passed on by a jump, which preserves the return
//! address, unless they look up a name that begins with `MPI_` in a specific library. Implemented for x86-64 only; on other
//! architectures such calls are not interposed.

#[cfg(target_arch = "x86_64")]
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};

use super::dynamic_linker::{Library, module_of, next_dlsym};
#[cfg(target_arch = "x86_64")]
use super::dynamic_linker::{NEXT_DLSYM, find_dlsym};

/// Interposes the C library's `dlsym`.
///
/// # Safety
/// As for `dlsym` of the C library.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        // RTLD_DEFAULT and RTLD_NEXT.
        "lea rax, [rdi + 1]",
        "cmp rax, 1",
        "jbe 2f",
        "test rsi, rsi",
        "je 2f",
        "cmp byte ptr [rsi], 'M'",
        "jne 2f",
        "cmp byte ptr [rsi + 1], 'P'",
        "jne 2f",
        "cmp byte ptr [rsi + 2], 'I'",
        "jne 2f",
        "cmp byte ptr [rsi + 3], '_'",
        "jne 2f",
        "mov rdx, [rsp]",
        "jmp {look}",
        "2:",
        "mov rax, [rip + {next}]",
        "test rax, rax",
        "je 3f",
        "jmp rax",
        "3:",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {find}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        look = sym look,
        next = sym NEXT_DLSYM,
        find = sym find_dlsym,
    )
}

/// The result for a function of MPI that a module looks up in a library.
///
/// # Safety
/// As for `dlsym`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
unsafe extern "C" fn look(handle: *mut c_void, name: *const c_char, caller: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let theirs = unsafe { next_dlsym(handle, name) };
    let base = |address: *const c_void| module_of(address).map(|module| module.base);
    if theirs.is_null() || base(caller as *const c_void) == base(look as *const c_void) {
        return theirs;
    }
    // If a tool interposes the function itself, or the caller is MPI, it looks up the next function.
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let asker = Library::holding(caller as *const c_void);
    let has_itself =
        asker.and_then(|asker| asker.symbol(name)).is_some_and(|found| base(found) == base(caller as *const c_void));
    let ours = || Library::holding(look as *const c_void)?.symbol(name);
    if has_itself { theirs } else { ours().unwrap_or(theirs) }
}
