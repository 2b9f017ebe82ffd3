//! Counters of completed operations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use ofi_abi::{FI_EAVAIL, FI_ETIMEDOUT};

use crate::bound::Bound;
use crate::domain::Domain;
use crate::errno::{Errno, Outcome, read_plain};
use crate::idle_yield::IdleYield;
use crate::reader::Reader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Operations.
    Completions,
    /// Bytes of their messages.
    Bytes,
}

/// A counter. Reading it makes progress on the endpoints that it is bound to, as with a completion queue.
pub struct Counter {
    unit: Unit,
    value: AtomicU64,
    errors: AtomicU64,
    idle: IdleYield,
    pub endpoints: RwLock<Vec<Arc<dyn Bound>>>,
    /// Keeps the domain open.
    _domain: Arc<Domain>,
}

impl Counter {
    pub fn new(unit: Unit, domain: Arc<Domain>) -> Counter {
        Counter {
            unit,
            value: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            idle: IdleYield::default(),
            endpoints: RwLock::default(),
            _domain: domain,
        }
    }

    pub fn count(&self, success: bool, bytes: u64) {
        match (success, self.unit) {
            (false, _) => self.errors.fetch_add(1, Ordering::Release),
            (true, Unit::Completions) => self.value.fetch_add(1, Ordering::Release),
            (true, Unit::Bytes) => self.value.fetch_add(bytes, Ordering::Release),
        };
    }

    /// The successful operations, after progress.
    pub fn read(&self) -> u64 {
        self.progress();
        self.value.load(Ordering::Acquire)
    }

    /// The failed operations.
    pub fn read_errors(&self) -> u64 {
        self.errors.load(Ordering::Acquire)
    }

    /// Adds to the successes.
    pub fn add(&self, value: u64) {
        self.value.fetch_add(value, Ordering::Release);
    }

    /// Sets the successes.
    pub fn set(&self, value: u64) {
        self.value.store(value, Ordering::Release);
    }

    /// Adds to the failures.
    pub fn add_errors(&self, value: u64) {
        self.errors.fetch_add(value, Ordering::Release);
    }

    /// Sets the failures.
    pub fn set_errors(&self, value: u64) {
        self.errors.store(value, Ordering::Release);
    }

    /// Progresses until the successes reach `threshold`. Fails when an operation fails or the time is over
    /// (`None`: never).
    pub fn wait(&self, threshold: u64, timeout: Option<Duration>) -> Outcome<()> {
        let start = Instant::now();
        let errors = self.read_errors();
        loop {
            let moved = self.progress();
            if self.value.load(Ordering::Acquire) >= threshold {
                return Ok(());
            }
            if self.read_errors() != errors {
                return Err(Errno(FI_EAVAIL));
            }
            if timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
                return Err(Errno(FI_ETIMEDOUT));
            }
            if moved {
                self.idle.active();
            } else {
                self.idle.nothing();
            }
        }
    }

    fn progress(&self) -> bool {
        let mut moved = false;
        for endpoint in read_plain(&self.endpoints).iter() {
            // Errors of an endpoint show in its completion queue; a counter cannot report them.
            moved |= endpoint.progress(&mut Reader::none()).unwrap_or(false);
        }
        moved
    }
}
