//! Writes a note for each program that loads the library (`fishplate_profile::notes`), if notes are enabled.
//!
//! It is written before the program's initialization, when neither its allocator nor a sanitizer's runtime may be ready. So the
//! code allocates no memory and uses system calls directly.

use std::ffi::{CStr, c_int, c_long};
use std::io::Write;

use fishplate_profile::notes::{self, LOADED};

use crate::profile::hash;

/// The dynamic linker calls it when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

/// Maximum length of a path in the kernel, in bytes (limits.h).
const PATH_MAX: usize = 4096;

extern "C" fn on_load() {
    for name in [fishplate_profile::VARIABLE, notes::VARIABLE] {
        let mut variable = [0; 64];
        variable[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: a NUL-terminated string; the environment is not changed before the program begins.
        let folder = unsafe { libc::getenv(variable.as_ptr().cast()) };
        // SAFETY: as above.
        let folder = if folder.is_null() { &[] } else { unsafe { CStr::from_ptr(folder) }.to_bytes() };
        if !folder.is_empty() {
            note(folder);
        }
    }
}

/// Writes the note to a folder, unless it exists.
fn note(folder: &[u8]) {
    let mut program = [0; PATH_MAX];
    // SAFETY: a NUL-terminated string, and a buffer for a path.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            c_long::from(libc::AT_FDCWD),
            c"/proc/self/exe".as_ptr(),
            program.as_mut_ptr(),
            program.len(),
        )
    };
    let Some(program) = usize::try_from(length).ok().and_then(|length| program.get(..length)) else { return };
    let mut path = [0; PATH_MAX];
    let mut rest = &mut path[..PATH_MAX - 1];
    let written = rest.write_all(folder).and_then(|()| write!(rest, "/{:016x}.{LOADED}", hash(program)));
    if written.is_err() {
        return;
    }
    let (flags, mode): (c_int, c_int) = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o600);
    // SAFETY: a NUL-terminated path.
    let file = unsafe {
        libc::syscall(
            libc::SYS_openat,
            c_long::from(libc::AT_FDCWD),
            path.as_ptr(),
            c_long::from(flags),
            c_long::from(mode),
        )
    };
    if file >= 0 {
        // SAFETY: an open file, and valid bytes.
        unsafe {
            libc::syscall(libc::SYS_write, file, program.as_ptr(), program.len());
            libc::syscall(libc::SYS_close, file);
        }
    }
}
