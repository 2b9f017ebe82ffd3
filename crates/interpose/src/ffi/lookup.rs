//! Programs that look for MPI's functions in a library that they have opened (`dlsym`), as Python's ctypes, Julia and
//! plug-ins do: they get those of this library, as programs do that are linked with MPI.
//!
//! `dlsym` of the C library answers by who calls it, so calls go on to it with the caller's return address in place, unless
//! they ask a certain library for a name that begins with `MPI_`. Only on the machine whose instructions are here; elsewhere
//! such calls are not seen.

#[cfg(target_arch = "x86_64")]
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};

use super::dynamic_linker::{Library, module_of};
use super::next_dlsym::next;
#[cfg(target_arch = "x86_64")]
use super::next_dlsym::{NEXT, find};

/// In front of the C library's.
///
/// # Safety
/// As there.
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
        next = sym NEXT,
        find = sym find,
    )
}

/// A function of MPI's that a module asks a library for.
///
/// # Safety
/// As for `dlsym`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
unsafe extern "C" fn look(handle: *mut c_void, name: *const c_char, caller: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let theirs = unsafe { next(handle, name) };
    let base = |address: *const c_void| module_of(address).map(|module| module.base);
    if theirs.is_null() || base(caller as *const c_void) == base(look as *const c_void) {
        return theirs;
    }
    // A tool in front of MPI that has the function itself looks for the one behind it, and so does MPI.
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let asker = Library::holding(caller as *const c_void);
    let has_itself =
        asker.and_then(|asker| asker.symbol(name)).is_some_and(|found| base(found) == base(caller as *const c_void));
    let ours = || Library::holding(look as *const c_void)?.symbol(name);
    if has_itself { theirs } else { ours().unwrap_or(theirs) }
}
