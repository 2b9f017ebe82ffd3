//! A collective call of the program, with its arguments.

use std::ffi::{c_int, c_void};

use super::collective_table::collective_table;
use super::functions::{Address, Counts, Int, Slot, functions};
use super::handle::Handle;

/// Defines a variant of [`Call`] for each operation, and the MPI library's two functions for it.
macro_rules! define_calls {
    ($($call:ident: $ours:ident, $ours_started:ident,
       $native_blocking:ident = $symbol:literal, $started:ident = $started_symbol:literal,
       ($($argument:ident: $type:ty),*);)*) => {
        functions! {
            $($native_blocking = $symbol ($($argument: $type),*);)*
            $($started = $started_symbol ($($argument: $type,)* request: Slot);)*
        }

        /// A collective call with the program's arguments.
        #[derive(Clone, Copy)]
        pub enum Call {
            $(#[doc = concat!("`", stringify!($ours), "`.")] $call { $($argument: $type),* },)*
        }

        impl Call {
            pub fn comm(&self) -> Handle {
                match *self { $(Call::$call { comm, .. } => comm,)* }
            }

            /// Executes the call by the MPI's blocking function.
            pub fn native_blocking(&self) -> c_int {
                match *self {
                    // SAFETY: the program called the function of that name with these arguments.
                    $(Call::$call { $($argument),* } => unsafe { $native_blocking($($argument),*) },)*
                }
            }

            /// Starts the call by the MPI's non-blocking function.
            ///
            /// # Safety
            /// `request` must point to a handle.
            pub unsafe fn native_nonblocking(&self, request: Slot) -> c_int {
                match *self {
                    // SAFETY: as above; the place is the caller's promise.
                    $(Call::$call { $($argument),* } => unsafe { $started($($argument,)* request) },)*
                }
            }
        }
    };
}

collective_table!(define_calls);

impl Call {
    /// Whether schedules for the operation exist. There are none for operations in which a rank knows only its own lengths: there
    /// an MPI library already sends each byte over the WAN once, in one crossing, which a schedule would not improve.
    pub fn has_schedules(&self) -> bool {
        matches!(
            self,
            Call::Barrier { .. }
                | Call::Bcast { .. }
                | Call::Reduce { .. }
                | Call::Allreduce { .. }
                | Call::Allgather { .. }
                | Call::Allgatherv { .. }
                | Call::Gather { .. }
                | Call::Scatter { .. }
                | Call::Alltoall { .. }
                | Call::ReduceScatter { .. }
                | Call::ReduceScatterBlock { .. }
        )
    }
}
