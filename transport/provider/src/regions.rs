//! Registered memory of a domain, for the peers of all its endpoints.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fishplate_engine::{Payload, Registration};
use ofi_abi::{FI_ENOKEY, FI_REMOTE_READ, FI_REMOTE_WRITE};

use crate::bound::Bound;
use crate::errno::{Errno, Outcome, lock_plain};

/// How peers address memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// By a key of the application's choice, and by offsets (no `mr_mode` at all, or `FI_MR_SCALABLE`).
    #[default]
    Offsets,
    /// By a key of the provider's choice, and by virtual addresses (`FI_MR_BASIC`, for old applications that insist).
    Virtual,
}

/// The regions of a domain, and its enabled endpoints. Locked before any endpoint.
pub struct Regions {
    addressing: Addressing,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    regions: BTreeMap<u64, Registration>,
    endpoints: Vec<Arc<dyn Bound>>,
    next_key: u64,
}

impl Regions {
    pub fn new(addressing: Addressing) -> Regions {
        Regions { addressing, inner: Mutex::default() }
    }

    /// Registers memory that starts at virtual address `start` for the remote kinds of `access`; returns its key.
    pub fn add(&self, memory: Payload, start: u64, access: u64, wanted_key: u64) -> Outcome<u64> {
        let mut inner = lock_plain(&self.inner);
        let (key, base) = match self.addressing {
            Addressing::Offsets => (wanted_key, 0),
            Addressing::Virtual => (inner.next_key, start),
        };
        if inner.regions.contains_key(&key) {
            return Err(Errno(FI_ENOKEY));
        }
        let (readable, writable) = (access & FI_REMOTE_READ != 0, access & FI_REMOTE_WRITE != 0);
        let registration = Registration { key, memory, base, readable, writable };
        for endpoint in &inner.endpoints {
            endpoint.expose(registration.clone())?;
        }
        inner.regions.insert(key, registration);
        inner.next_key += 1;
        Ok(key)
    }

    /// Ends a registration: when it returns, the memory is not accessed any more.
    pub fn remove(&self, key: u64) {
        let mut inner = lock_plain(&self.inner);
        inner.regions.remove(&key);
        inner.endpoints.iter().for_each(|endpoint| endpoint.withdraw(key));
    }

    /// Runs `enable`, which opens the transport of `endpoint` and lets its peers access the regions of now.
    pub fn join(
        &self,
        endpoint: Arc<dyn Bound>,
        enable: impl FnOnce(&BTreeMap<u64, Registration>) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut inner = lock_plain(&self.inner);
        enable(&inner.regions)?;
        inner.endpoints.push(endpoint);
        Ok(())
    }

    /// An endpoint is closed.
    pub fn leave(&self, endpoint: &Arc<dyn Bound>) {
        lock_plain(&self.inner).endpoints.retain(|known| !Arc::ptr_eq(known, endpoint));
    }
}
