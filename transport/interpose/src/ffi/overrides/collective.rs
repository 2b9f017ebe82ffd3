//! Collective operations, blocking and non-blocking.

use std::ffi::c_int;

use crate::ffi::call::Call;
use crate::ffi::collective_table::collective_table;
use crate::ffi::dispatch;
use crate::ffi::functions::{Address, Counts, Int, Slot};
use crate::ffi::handle::Handle;

/// Defines the overrides of each operation: blocking and non-blocking.
macro_rules! define_exports {
    ($($call:ident: $ours:ident, $ours_started:ident,
       $native_blocking:ident = $symbol:literal, $started:ident = $started_symbol:literal,
       ($($argument:ident: $type:ty),*);)*) => {
        $(
            pub unsafe extern "C-unwind" fn $ours($($argument: $type),*) -> c_int {
                dispatch::blocking(&Call::$call { $($argument),* })
            }

            pub unsafe extern "C-unwind" fn $ours_started($($argument: $type,)* request: Slot) -> c_int {
                // SAFETY: MPI's rules for the caller of this function.
                unsafe { dispatch::nonblocking(&Call::$call { $($argument),* }, request) }
            }
        )*
    };
}

collective_table!(define_exports);
