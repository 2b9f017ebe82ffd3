//! The libfabric provider `libfishplate-fi.so`: libfabric's objects on top of [`fishplate_rails::Endpoint`].
//!
//! Its one entry is [`fi_prov_ini`], which libfabric calls when it loads the library; it has no interface for Rust.
//!
//! The modules here are safe code; `src/ffi/` converts between them and C, and has all unsafe code.
//! Locks are taken in this order: list of endpoints of a queue, registered memory of a domain, endpoint, address table or
//! entries of a queue.
#![deny(unsafe_code)]

mod address_vector;
mod bound;
mod completion;
mod completion_queue;
mod counter;
mod domain;
mod endpoint;
mod environment;
mod errno;
mod error_report;
mod event_queue;
#[allow(unsafe_code)]
mod ffi;
mod idle_yield;
mod info;
mod pause;
mod progress_thread;
mod reader;
mod regions;
mod shared_processor;

pub use ffi::fi_prov_ini;
