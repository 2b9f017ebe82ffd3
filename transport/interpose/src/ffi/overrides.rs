//! The functions that replace MPI's while schedules may be in use.
//!
//! [`super::entry`] calls them. They have the names, arguments and rules for callers of MPI's functions. They call the MPI
//! library, [`super::dispatch`] for collective operations, and [`crate::progress`] for active schedules.
//!
//! Arguments that are passed on unchanged are words, whatever their types: see [`super::handle`].

#![allow(non_snake_case)]

use std::ffi::{c_int, c_void};
use std::ptr;

use super::call::{Call, collective_table};
use super::dispatch;
use super::functions::{Address, Counts, Handle, Int, Slot, functions};
use super::library;
use crate::{communicator, process_state, progress};

/// The override of MPI's function of this name.
pub fn find(name: &str) -> Option<*const c_void> {
    let name = name.strip_prefix("MPI_")?;
    let tables = [beginning, ending, freeing, creating, testing, waiting, exchanging, sending, collective];
    tables.into_iter().find_map(|table| table(name))
}

/// Defines a lookup of functions by their names without `MPI_`.
macro_rules! table {
    ($find:ident: $($name:ident)*; $($function:item)*) => {
        fn $find(name: &str) -> Option<*const c_void> {
            $($function)*
            match name {
                $(stringify!($name) => Some($name as *const c_void),)*
                _ => None,
            }
        }
    };
}

/// Calls the MPI library's function of this name.
macro_rules! native {
    ($name:ident ($($argument:ident),* $(,)?)) => {{
        functions! { $name ($($argument: usize),*); }
        // SAFETY: the program's arguments, passed on unchanged, and places of our own.
        unsafe { $name($($argument),*) }
    }};
}

/// Defines overrides that do something before and after MPI's function of the same name.
macro_rules! around {
    ($find:ident, $before:expr, $after:expr; $($name:ident ($($argument:ident),*);)*) => {
        table! { $find: $($name)*; $(
            unsafe extern "C-unwind" fn $name($($argument: usize),*) -> c_int {
                $before();
                let code = native!($name($($argument),*));
                $after(code);
                code
            }
        )* }
    };
}

around! { beginning, nothing, begun;
    Init (argc, argv);
    Init_thread (argc, argv, required, provided);
}

around! { ending, process_state::stop, no_more;
    Finalize ();
}

around! { freeing, nothing, freed;
    Comm_free (comm);
    Comm_disconnect (comm);
}

// They wait for other ranks.
around! { creating, progress::finish_all, no_more;
    Comm_dup (comm, made);
    Comm_dup_with_info (comm, info, made);
    Comm_create (comm, group, made);
    Comm_create_group (comm, group, tag, made);
    Comm_split (comm, color, key, made);
    Comm_split_type (comm, kind, key, info, made);
    Cart_create (comm, dimensions, lengths, periodic, reorder, made);
    Win_fence (assertion, window);
}

around! { testing, progress::advance, no_more;
    Test (request, flag, status);
    Testall (count, requests, flag, statuses);
    Testany (count, requests, index, flag, status);
    Testsome (count, requests, found, indices, statuses);
    Request_get_status (request, flag, status);
    Iprobe (from, tag, comm, flag, status);
    Improbe (from, tag, comm, flag, message, status);
}

fn nothing() {}

fn no_more(_: c_int) {}

fn begun(code: c_int) {
    if code == 0 {
        process_state::start();
    }
}

fn freed(_: c_int) {
    communicator::free_deferred();
}

/// Defines overrides that wait: while schedules are active they poll by testing instead.
macro_rules! polling {
    ($find:ident; $($name:ident ($($argument:ident),*), by |$flag:ident| $look:expr;)*) => {
        table! { $find: $($name)*; $(
            unsafe extern "C-unwind" fn $name($($argument: usize),*) -> c_int {
                if progress::is_empty() {
                    return native!($name($($argument),*));
                }
                progress::wait_for(|flag| {
                    let $flag = ptr::from_mut(flag) as usize;
                    $look
                })
            }
        )* }
    };
}

polling! { waiting;
    Wait (request, status), by |flag| native!(Test(request, flag, status));
    Waitall (count, requests, statuses), by |flag| native!(Testall(count, requests, flag, statuses));
    Waitany (count, requests, index, status), by |flag| native!(Testany(count, requests, index, flag, status));
    Waitsome (count, requests, found, indices, statuses), by |flag| {
        let code = native!(Testsome(count, requests, found, indices, statuses));
        // None, or MPI_UNDEFINED if there is no active request.
        // SAFETY: the program's place of a number, and our own.
        unsafe { *(flag as *mut c_int) = c_int::from(*(found as *const c_int) != 0) };
        code
    };
    Probe (from, tag, comm, status), by |flag| native!(Iprobe(from, tag, comm, flag, status));
    Mprobe (from, tag, comm, message, status), by |flag| native!(Improbe(from, tag, comm, flag, message, status));
}

/// Defines overrides that send or receive: while schedules are active they wait for a non-blocking operation, if the MPI has it.
macro_rules! by_request {
    ($find:ident; $($name:ident, by $start:ident $(if $there:expr)?, ($($argument:ident),*) $($status:ident)?;)*) => {
        table! { $find: $($name)*; $(
            unsafe extern "C-unwind" fn $name($($argument: usize,)* $($status: usize)?) -> c_int {
                if progress::is_empty() $(|| !$there)? {
                    return native!($name($($argument,)* $($status)?));
                }
                let mut request: Handle = 0;
                let place = ptr::from_mut(&mut request) as usize;
                let code = native!($start($($argument,)* place));
                let status = [$($status as Address,)? dispatch::ignored()][0];
                if code == 0 { dispatch::wait(place as Slot, status) } else { code }
            }
        )* }
    };
}

by_request! { sending;
    Send, by Isend, (from, count, datatype, to, tag, comm);
    Ssend, by Issend, (from, count, datatype, to, tag, comm);
    Rsend, by Irsend, (from, count, datatype, to, tag, comm);
    Recv, by Irecv, (into, count, datatype, from, tag, comm) status;
    Mrecv, by Imrecv, (into, count, datatype, message) status;
    // MPI has this non-blocking form since version 4.
    Sendrecv_replace, by Isendrecv_replace if library::symbol(c"PMPI_Isendrecv_replace").is_some(),
        (buffer, count, datatype, to, out_tag, from, in_tag, comm) status;
}

table! { exchanging: Sendrecv;
    unsafe extern "C-unwind" fn Sendrecv(
        out: usize,
        out_count: usize,
        out_type: usize,
        to: usize,
        out_tag: usize,
        into: usize,
        in_count: usize,
        in_type: usize,
        from: usize,
        in_tag: usize,
        comm: usize,
        status: usize,
    ) -> c_int {
        if progress::is_empty() {
            return native!(Sendrecv(
                out, out_count, out_type, to, out_tag, into, in_count, in_type, from, in_tag, comm, status
            ));
        }
        let mut requests: [Handle; 2] = [0; 2];
        let [receiving, sending] = requests.each_mut().map(|request| ptr::from_mut(request) as usize);
        let code = native!(Irecv(into, in_count, in_type, from, in_tag, comm, receiving));
        if code != 0 {
            return code;
        }
        let code = native!(Isend(out, out_count, out_type, to, out_tag, comm, sending));
        if code != 0 {
            return code;
        }
        let sent = dispatch::wait(sending as Slot, dispatch::ignored());
        let received = dispatch::wait(receiving as Slot, status as Address);
        if sent == 0 { received } else { sent }
    }
}

/// Defines the overrides of each collective operation: blocking and non-blocking.
macro_rules! collectives {
    ($($blocking:ident, $started:ident ($($argument:ident: $type:ty),*);)*) => {
        table! { collective: $($blocking $started)*; $(
            unsafe extern "C-unwind" fn $blocking($($argument: $type),*) -> c_int {
                dispatch::blocking(&Call::$blocking { $($argument),* })
            }
            unsafe extern "C-unwind" fn $started($($argument: $type,)* request: Slot) -> c_int {
                // SAFETY: MPI's rules for the caller of this function.
                unsafe { dispatch::nonblocking(&Call::$blocking { $($argument),* }, request) }
            }
        )* }
    };
}

collective_table!(collectives);
