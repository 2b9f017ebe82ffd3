//! Access to the arguments of a call by their kind.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;

use fishplate_profile::calls::Call;

use super::Language;
use super::enter::IN_REGISTERS;
use crate::ffi::abi::Abi;
use crate::ffi::functions::{self as mpi, Handle};
use crate::ffi::library;
use crate::ffi::objects::Comm;
use crate::profile::hash;

/// Upper bound of the number of arguments: at most 13, and [`MORE_IN_FORTRAN`].
pub const MAX_ARGUMENTS: usize = 16;
/// Arguments added in Fortran: the error code, and the lengths of two strings.
const MORE_IN_FORTRAN: usize = 3;

/// Marks a request's handle in Fortran, whose numbers may coincide with handles in C.
const FORTRAN: usize = 1 << 62;

pub struct Arguments {
    /// The arguments as passed, followed by undefined values.
    pub values: [usize; MAX_ARGUMENTS],
    pub call: &'static Call,
    pub language: Language,
}

impl Arguments {
    /// Reads the arguments from registers and stack.
    ///
    /// # Safety
    /// `registers` points to the arguments passed in registers, `stack` to the further ones.
    pub unsafe fn read(
        call: &'static Call,
        language: Language,
        registers: *const usize,
        stack: *const usize,
    ) -> Arguments {
        let more = if language == Language::C { 0 } else { MORE_IN_FORTRAN };
        let mut values = [0; MAX_ARGUMENTS];
        for (at, value) in values.iter_mut().take(IN_REGISTERS.max(call.arguments.len() + more)).enumerate() {
            // SAFETY: the caller's promise. If a Fortran call has no strings, the excess reads stay within the stack frames of the
            // program up to its main function, and the function called ignores these values.
            *value = unsafe { if at < IN_REGISTERS { *registers.add(at) } else { *stack.add(at - IN_REGISTERS) } };
        }
        Arguments { values, call, language }
    }

    /// Calls a function with the arguments. (Excess arguments are harmless in the calling conventions of `enter`.)
    pub fn call(&self, target: *mut c_void) -> usize {
        type A = usize;
        type Function = unsafe extern "C-unwind" fn(A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A) -> usize;
        // SAFETY: a function that takes these arguments, or fewer; see `handle` for how they are passed.
        let function: Function = unsafe { std::mem::transmute(target) };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.values;
        // SAFETY: the program's arguments are passed on.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
    }

    /// Whether the call failed, according to its result.
    pub fn has_failed(&self, result: usize) -> bool {
        self.error(result) != 0
    }

    /// Whether the call failed with MPI_ERR_TRUNCATE: a message was longer than its buffer, and its rest was dropped.
    pub fn is_truncated(&self, abi: &Abi, result: usize) -> bool {
        let (error, mut class) = (self.error(result), 0);
        // SAFETY: a code returned by MPI, and a pointer to a number.
        error != 0 && unsafe { mpi::Error_class(error, &mut class) } == 0 && class == abi.error_truncate
    }

    /// The error code; 0: success.
    fn error(&self, result: usize) -> c_int {
        match self.language {
            Language::C => result as c_int,
            // It is the last argument, which is optional in `mpi_f08`.
            _ => self.pointer::<c_int>(self.values[self.call.arguments.len()]).unwrap_or(0),
        }
    }

    /// Whether the call has an argument of this kind.
    pub fn has(&self, argument: u8) -> bool {
        self.call.position(argument).is_some()
    }

    /// An argument as passed.
    pub fn raw(&self, argument: u8) -> Option<usize> {
        self.call.position(argument).map(|at| self.values[at])
    }

    pub fn int(&self, argument: u8) -> Option<c_int> {
        self.call.position(argument).map(|at| self.int_at(at))
    }

    /// A number of elements.
    pub fn count(&self, argument: u8) -> Option<u64> {
        let at = self.call.position(argument)?;
        // The count of partitioned communication is always an MPI_Count.
        let is_large = self.call.is_large || self.has(b'p');
        let count = match self.language {
            Language::C if is_large => self.values[at] as i64,
            _ if is_large => self.pointer::<i64>(self.values[at])?,
            _ => i64::from(self.int_at(at)),
        };
        Some(u64::try_from(count).unwrap_or(0))
    }

    /// An array of numbers of elements; `None` if the pointer is null.
    pub fn counts(&self, argument: u8, length: usize) -> Option<Vec<u64>> {
        let start = self.raw(argument).filter(|start| *start != 0)?;
        let one = |at: usize| {
            let count = if self.call.is_large {
                self.pointer::<i64>(start + at * size_of::<i64>())
            } else {
                self.pointer::<c_int>(start + at * size_of::<c_int>()).map(i64::from)
            };
            u64::try_from(count.unwrap_or(0)).unwrap_or(0)
        };
        Some((0..length).map(one).collect())
    }

    /// A handle: of a communicator, a datatype, a window.
    pub fn handle(&self, abi: &Abi, argument: u8) -> Option<Handle> {
        let value = self.raw(argument)?;
        match self.language {
            Language::C => Some(abi.clean(value)),
            _ => self.handle_in_c(abi, argument, self.pointer::<c_int>(value)?),
        }
    }

    pub fn comm(&self, abi: &Abi, argument: u8) -> Option<Comm> {
        // SAFETY: MPI requires the handle of a valid communicator.
        self.handle(abi, argument).map(|handle| unsafe { Comm::from_handle(handle) })
    }

    /// The communicator that an argument points to.
    pub fn comm_at(&self, abi: &Abi, argument: u8) -> Option<Comm> {
        // SAFETY: MPI requires a pointer to such a handle, or has written one there.
        self.handle_of(abi, argument, 0).map(|handle| unsafe { Comm::from_handle(handle) })
    }

    /// A handle in an array.
    pub fn handle_of(&self, abi: &Abi, argument: u8, at: usize) -> Option<Handle> {
        let start = self.raw(argument).filter(|start| *start != 0)?;
        match self.language {
            Language::C => Some(self.handle_in_memory(abi, start, at)),
            _ => self.handle_in_c(abi, argument, self.pointer::<c_int>(start + at * size_of::<c_int>())?),
        }
    }

    /// Identifies a request or a message of a matching probe: the one that an argument points to, or one of an array.
    pub fn request(&self, abi: &Abi, argument: u8, at: usize) -> Option<usize> {
        let start = self.raw(argument).filter(|start| *start != 0)?;
        match self.language {
            Language::C if argument == b'K' => Some(abi.clean(start)),
            Language::C => Some(self.handle_in_memory(abi, start, at)),
            // In MPICH the number is also the handle in C, which created the request.
            _ if !abi.is_open_mpi() => Some(self.handle_in_memory(abi, start, at)),
            _ => self.pointer::<c_int>(start + at * size_of::<c_int>()).map(|number| number as u32 as usize | FORTRAN),
        }
    }

    /// The handle in C of the request that an argument points to, if known.
    pub fn handle_of_request(&self, abi: &Abi) -> Option<Handle> {
        let is_as_in_c = self.language == Language::C || !abi.is_open_mpi();
        self.request(abi, b'q', 0).filter(|_| is_as_in_c)
    }

    /// Hash of a string argument.
    pub fn text(&self, argument: u8) -> Option<u64> {
        let start = self.raw(argument).filter(|start| *start != 0 && self.language == Language::C)?;
        // SAFETY: MPI requires a pointer to a NUL-terminated string.
        let text = unsafe { CStr::from_ptr(start as *const c_char) };
        Some(hash(text.to_bytes()))
    }

    /// A number written by MPI.
    pub fn written(&self, argument: u8) -> Option<c_int> {
        self.pointer::<c_int>(self.raw(argument)?)
    }

    /// An index written by MPI, counted from 0.
    pub fn index(&self, argument: u8, at: usize) -> Option<usize> {
        let index = self.pointer::<c_int>(self.raw(argument)? + at * size_of::<c_int>())?;
        let first = if self.language == Language::C { 0 } else { 1 };
        usize::try_from(index - first).ok()
    }

    pub fn is_in_place(&self, abi: &Abi, argument: u8) -> bool {
        self.raw(argument).is_some_and(|value| match self.language {
            Language::C => value == abi.in_place,
            _ => value == in_place_in_fortran(),
        })
    }

    pub fn int_at(&self, at: usize) -> c_int {
        match self.language {
            Language::C => self.values[at] as c_int,
            _ => self.pointer::<c_int>(self.values[at]).unwrap_or(0),
        }
    }

    fn handle_in_memory(&self, abi: &Abi, start: usize, at: usize) -> Handle {
        let address = start + at * abi.handle_bytes;
        let handle = if abi.handle_bytes == size_of::<c_int>() {
            self.pointer::<c_int>(address).map(|handle| handle as usize)
        } else {
            self.pointer::<Handle>(address)
        };
        abi.clean(handle.unwrap_or(0))
    }

    /// The value that the program's pointer points to; `None` if it is null.
    fn pointer<T: Copy>(&self, address: usize) -> Option<T> {
        // SAFETY: MPI requires a pointer to such a value in this argument, and reads it too.
        (address != 0).then(|| unsafe { (address as *const T).read_unaligned() })
    }

    /// The handle in C of a handle in Fortran, if functions for Fortran are recorded.
    fn handle_in_c(&self, abi: &Abi, argument: u8, handle: c_int) -> Option<Handle> {
        if !abi.is_open_mpi() {
            return Some(abi.clean(handle as usize));
        }
        static CONVERTERS: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];
        let (cache, name) = match argument {
            b'c' | b'z' | b'Z' => (&CONVERTERS[0], c"PMPI_Comm_f2c"),
            b'w' | b'W' | b'F' => (&CONVERTERS[1], c"PMPI_Win_f2c"),
            _ => (&CONVERTERS[2], c"PMPI_Type_f2c"),
        };
        let address = library::function(cache, name);
        // SAFETY: MPI's functions of these names take a number and return a handle, here a pointer.
        let convert: unsafe extern "C" fn(c_int) -> Handle = unsafe { std::mem::transmute(address) };
        // SAFETY: a handle of the program.
        Some(unsafe { convert(handle) })
    }
}

/// Address of Open MPI's variable for MPI_IN_PLACE in Fortran; 0 in other libraries.
fn in_place_in_fortran() -> usize {
    static ADDRESS: OnceLock<usize> = OnceLock::new();
    *ADDRESS.get_or_init(|| library::variable(c"mpi_fortran_in_place_").map_or(0, |variable| variable as usize))
}
