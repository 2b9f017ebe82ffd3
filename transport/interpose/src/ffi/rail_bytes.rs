//! Queries the bytes carried over each rail by the provider in this process, if the MPI loaded it.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

use super::dynamic_linker;

/// Limit of the number of rails queried.
const MAX_RAILS: usize = 24;

/// Bytes of a name, including its NUL.
const NAME_BYTES: usize = 56;

/// A rail, as the provider writes it (`transport/provider/src/ffi/interposer.rs`).
#[repr(C)]
#[derive(Clone, Copy)]
struct RawRail {
    name: [u8; NAME_BYTES],
    sent: u64,
    received: u64,
}

type Function = unsafe extern "C" fn(*mut RawRail, usize) -> usize;

/// The provider in this process.
#[derive(Clone, Copy)]
pub struct Provider(Function);

/// Bytes carried by a rail or an interface since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    pub name: String,
    pub sent: u64,
    pub received: u64,
}

impl Provider {
    pub fn find() -> Option<Provider> {
        let address = dynamic_linker::of_provider(c"fishplate_named_rail_bytes")?;
        // SAFETY: the provider's function of this name has this type.
        Some(Provider(unsafe { std::mem::transmute::<*mut c_void, Function>(address) }))
    }

    pub fn rails(self) -> Vec<Counter> {
        let mut raw = [const { MaybeUninit::<RawRail>::uninit() }; MAX_RAILS];
        // SAFETY: a buffer for that many rails.
        let count = unsafe { (self.0)(raw.as_mut_ptr().cast(), MAX_RAILS) };
        // SAFETY: the provider wrote as many as it returned.
        raw.iter().take(count).map(|rail| unsafe { rail.assume_init() }.counter()).collect()
    }
}

impl RawRail {
    fn counter(&self) -> Counter {
        let name = CStr::from_bytes_until_nul(&self.name).unwrap_or_default().to_string_lossy().into_owned();
        Counter { name, sent: self.sent, received: self.received }
    }
}
