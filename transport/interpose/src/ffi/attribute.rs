//! Data attached to a communicator of the program as an attribute: MPI calls back when the communicator is freed.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::functions::{self as mpi, Handle};
use super::objects::{Comm, Result, check};

/// Key of an attribute of type `Arc<T>`.
pub struct Attribute<T> {
    keyval: c_int,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Send + Sync> Attribute<T> {
    /// A new key.
    pub fn new() -> Result<Attribute<T>> {
        unsafe extern "C" fn copy(
            _: Handle,
            _: c_int,
            _: *mut c_void,
            _: *mut c_void,
            _: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: MPI passes a pointer for the result. A copy of the communicator does not get the attribute.
            unsafe { *flag = 0 };
            0
        }
        unsafe extern "C" fn delete<T>(_: Handle, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
            // SAFETY: `set` made the value from an `Arc`, and MPI calls this once for it.
            drop(unsafe { Arc::from_raw(value.cast::<T>()) });
            0
        }
        let mut keyval = 0;
        let (copy, delete) = (copy as *mut c_void, delete::<T> as *mut c_void);
        // SAFETY: functions of the types that MPI requires, and a pointer to a number.
        check(unsafe { mpi::Comm_create_keyval(copy, delete, &mut keyval, ptr::null_mut()) })?;
        Ok(Attribute { keyval, kind: std::marker::PhantomData })
    }

    /// The value attached to a communicator.
    pub fn get(&self, comm: Comm) -> Option<Arc<T>> {
        let mut value: *mut c_void = ptr::null_mut();
        let mut found = 0;
        // SAFETY: a valid communicator and key, and pointers for the results.
        let code = unsafe { mpi::Comm_get_attr(comm.0, self.keyval, ptr::from_mut(&mut value).cast(), &mut found) };
        if code != 0 || found == 0 {
            return None;
        }
        let value = value.cast::<T>().cast_const();
        // SAFETY: `set` made the value from an `Arc`; the communicator keeps its reference count.
        unsafe { Arc::increment_strong_count(value) };
        // SAFETY: as above; this takes over the count added above.
        Some(unsafe { Arc::from_raw(value) })
    }

    pub fn set(&self, comm: Comm, value: Arc<T>) -> Result<()> {
        // SAFETY: a valid communicator and key; `delete` takes over the count.
        check(unsafe { mpi::Comm_set_attr(comm.0, self.keyval, Arc::into_raw(value).cast_mut().cast()) })
    }

    /// Removes the value attached to a communicator.
    pub fn remove(&self, comm: Comm) {
        // SAFETY: a valid communicator and key; MPI calls `delete`.
        unsafe { mpi::Comm_delete_attr(comm.0, self.keyval) };
    }
}
