//! Finds the MPI library of this process, and its functions.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::dynamic_linker::{self, Library, Module, module_of};

/// A symbol that every MPI library has.
const MARK: &CStr = c"PMPI_Init";
/// Bits of an address of a program, unless it requests higher addresses from the kernel.
const ADDRESS_BITS: u32 = 48;

pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref()?.symbol(name)
}

/// The function of this name that the module of `caller` would call without this library: its own one (mpi4py contains
/// functions that its MPI lacks), or one of a library that it was linked with.
pub fn in_module_of(caller: usize, name: &CStr) -> Option<*mut c_void> {
    let address = Library::holding(caller as *const c_void)?.symbol(name)?;
    // The handle of the program itself is the global scope, which includes this library.
    let base = |address| module_of(address).map(|module| module.base);
    (base(address) != base(in_module_of as *const c_void)).then_some(address)
}

/// Size of the cache of [`Loaded::is_of_mpi`]: calls are made from few places.
const KEPT: usize = 256;

/// The state of the dynamic linker.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// Number of libraries loaded and closed so far.
    changes: u64,
}

impl Loaded {
    /// The present state. To be called once for all addresses of a stack.
    pub fn now() -> Loaded {
        Loaded { changes: dynamic_linker::changes() }
    }

    /// Whether an address is in the MPI library or in a component that it loaded (Open MPI's files `mca_...`).
    pub fn is_of_mpi(self, address: usize) -> bool {
        // The dynamic linker searches the symbols of a module, which takes tens of microseconds. A cached result is valid until a
        // library is loaded or closed. A word contains the number of changes, the address, and the result.
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

/// Address of a variable of the MPI library. If the program is linked with the library, the variable may be in the program
/// (copy relocation).
pub fn variable(name: &CStr) -> Option<*mut c_void> {
    dynamic_linker::global(name).or_else(|| symbol(name))
}

/// Address of a mandatory function of MPI; looked up once.
pub fn function(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let found = symbol(name).unwrap_or_else(|| missing(name));
    cache.store(found, Ordering::Release);
    found
}

/// Ends the process, as a mandatory function of MPI is missing.
fn missing(name: &CStr) -> ! {
    fishplate_guest::report(format_args!("no MPI library of this process has the function {}", name.to_string_lossy()));
    std::process::abort();
}

/// The library that the program was linked with, or else the one that it loaded into a local scope, as Python does.
fn find() -> Option<Library> {
    if let Some(mark) = dynamic_linker::next(MARK) {
        return Library::holding(mark);
    }
    let names = dynamic_linker::names(|file| file.starts_with(b"libmpi"));
    names.iter().filter_map(|name| Library::loaded(name)).find(|library| library.symbol(MARK).is_some())
}
