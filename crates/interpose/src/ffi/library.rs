//! The MPI library of this process, and the functions in it.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::dynamic_linker::{self, Library, Module, module_of};

/// Every MPI library has it.
const MARK: &CStr = c"PMPI_Init";
/// Bits of a program's address, unless it asks the kernel for higher ones.
const ADDRESS_BITS: u32 = 48;

/// The address of a symbol of the MPI library.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref()?.symbol(name)
}

/// The function of this name that the module of an address would have called: one that it has itself, as mpi4py has what
/// its MPI lacks, or of a library that it was linked with.
pub fn in_module_of(caller: usize, name: &CStr) -> Option<*mut c_void> {
    let address = Library::holding(caller as *const c_void)?.symbol(name)?;
    // A program's module stands for all that is loaded, this library included.
    let base = |address| module_of(address).map(|module| module.base);
    (base(address) != base(in_module_of as *const c_void)).then_some(address)
}

/// Answers of [`Loaded::is_of_mpi`] that are kept: calls are made from few places.
const KEPT: usize = 256;

/// What is loaded.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// How often something was loaded or closed until then.
    changes: u64,
}

impl Loaded {
    /// What is loaded now. The dynamic linker is asked once for all addresses of a stack.
    pub fn now() -> Loaded {
        Loaded { changes: dynamic_linker::changes() }
    }

    /// Whether an address is in the MPI library, or in a component that it has loaded (Open MPI's have files `mca_...`).
    pub fn is_of_mpi(self, address: usize) -> bool {
        // The dynamic linker goes through a module's symbols for it: tens of microseconds. An answer is good until something
        // is loaded or closed. A word has this number of changes, the address, and the answer.
        static ANSWERS: [AtomicU64; KEPT] = [const { AtomicU64::new(0) }; KEPT];
        let question = self.changes << (ADDRESS_BITS + 1) | (address as u64) << 1;
        let place = &ANSWERS[(address ^ address >> 8) % KEPT];
        let known = place.load(Ordering::Relaxed);
        if known & !1 == question {
            return known & 1 == 1;
        }
        let answer = is_in_mpi(address);
        place.store(question | u64::from(answer), Ordering::Relaxed);
        answer
    }
}

fn is_in_mpi(address: usize) -> bool {
    static BASE: OnceLock<Option<usize>> = OnceLock::new();
    let own = BASE.get_or_init(|| module_of(symbol(MARK)?).map(|module| module.base));
    let is_component = |module: &Module| {
        let file = module.file();
        file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"mca_"))
    };
    module_of(address as *const c_void).is_some_and(|module| Some(module.base) == *own || is_component(&module))
}

/// The address of a variable of the MPI library. A program that is linked with it may hold the variable itself, in a copy
/// that the library uses as well (a copy relocation).
pub fn variable(name: &CStr) -> Option<*mut c_void> {
    dynamic_linker::global(name).or_else(|| symbol(name))
}

/// The address of a function that MPI must have; looked for once.
pub fn function(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let found = symbol(name).unwrap_or_else(|| missing(name));
    cache.store(found, Ordering::Release);
    found
}

/// Ends the process, as a function that MPI must have is not there.
fn missing(name: &CStr) -> ! {
    fishplate_guest::report(format_args!("no MPI library of this process has the function {}", name.to_string_lossy()));
    std::process::abort();
}

/// The one that the program was linked with, or else the one that it has loaded, as Python does, for itself alone.
fn find() -> Option<Library> {
    if let Some(mark) = dynamic_linker::next(MARK) {
        return Library::holding(mark);
    }
    let names = dynamic_linker::names(|file| file.starts_with(b"libmpi"));
    names.iter().filter_map(|name| Library::loaded(name)).find(|library| library.symbol(MARK).is_some())
}
