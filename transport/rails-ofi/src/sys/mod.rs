//! The only place of this crate that may use `unsafe`: calls into a libfabric that is loaded in this process: its providers, and endpoints of them.
//!
//! [`Library`] finds the functions, [`Offer`] is what a provider offers, [`Port`] an endpoint with all that it needs, or one
//! endpoint for each peer with `Connections`; [`Provider`] is the interface of an endpoint for rails.
//! The safety rests on libfabric's manual pages, which the `SAFETY` comments call *the contract*: objects are closed once,
//! after those that were made of them; buffers of operations stay until their completion has come, or the endpoint is
//! closed.

mod address;
mod buffer;
mod connected;
mod connections;
mod datagram_endpoint;
mod domain;
mod library;
mod object;
mod offer;
mod operation;
mod operations;
mod port;
mod provider;
mod registration;

pub use address::PeerAddress;
pub use buffer::Buffer;
pub use connections::{ConnectionEvent, Request};
pub use library::Library;
pub use offer::{EndpointKind, Offer};
pub use operation::{Event, Posted, Remote};
pub use port::Port;
pub use provider::Provider;
pub use registration::LentPiece;

use std::ffi::{CStr, c_char};

/// A call of libfabric has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {text} ({number})")]
pub struct Error {
    /// The failed call.
    pub call: &'static str,
    /// The error's number, positive.
    pub number: i32,
    /// Its explanation.
    pub text: String,
}

/// # Safety
/// `string` is null or a C string.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the caller promises a C string.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

/// To be held by tests that use a libfabric: several threads that open and close domains at once have been seen to crash
/// inside of release 1.17, although each had its own.
#[cfg(test)]
pub fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
