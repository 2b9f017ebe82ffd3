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

        /// A collective call with its arguments, as the program gives them.
        #[derive(Clone, Copy)]
        pub enum Call {
            $(#[doc = concat!("`", stringify!($ours), "`.")] $call { $($argument: $type),* },)*
        }

        impl Call {
            /// The communicator that it is on.
            pub fn comm(&self) -> Handle {
                match *self { $(Call::$call { comm, .. } => comm,)* }
            }

            /// Has the MPI do it.
            pub fn native_blocking(&self) -> c_int {
                match *self {
                    // SAFETY: the program has called the function of that name with these arguments.
                    $(Call::$call { $($argument),* } => unsafe { $native_blocking($($argument),*) },)*
                }
            }

            /// Has the MPI start it.
            ///
            /// # Safety
            /// `request` must be a place for a handle.
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
    /// Whether there are schedules for it. There are none where a rank knows only its own part of the lengths: an MPI
    /// sends each byte over the WAN once there, in one crossing, and so would they.
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
