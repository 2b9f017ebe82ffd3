//! The libfabric ABI, release 2.5, as Rust types and constants; no logic.
//!
//! Names, meanings and layouts are those of libfabric's C headers; its manual pages (`fi_getinfo.3`, `fi_domain.3`,
//! `fi_endpoint.3`, `fi_cq.3`, ...) are the documentation. C enumerations are integers here, since a caller may pass
//! values that a Rust enumeration could not hold. Function pointers of operation tables cannot be null, so a provider
//! that builds has filled every slot.
//!
//! `fishplate-provider` is written against it; any other libfabric provider in Rust could be. Where libfabric's headers are
//! installed, a test compares every layout and constant with them.
//!
//! ```
//! // Versions are numbers, the major one in the upper half.
//! assert!(ofi_abi::fi_version(2, 5) > ofi_abi::fi_version(1, 20));
//! ```
#![allow(missing_docs, non_camel_case_types)]
#![forbid(unsafe_code)]

pub mod atomic;
pub mod domain;
pub mod endpoint;
pub mod errno;
pub mod fabric;
pub mod flags;
pub mod info;
pub mod provider;
pub mod queue;
pub mod rma;
pub mod tagged;

pub use atomic::*;
pub use domain::*;
pub use endpoint::*;
pub use errno::*;
pub use fabric::*;
pub use flags::*;
pub use info::*;
pub use provider::*;
pub use queue::*;
pub use rma::*;
pub use tagged::*;
