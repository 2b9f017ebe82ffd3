//! The lock of an endpoint, taken by every call of its users. Unlocking is a plain store. An atomic exchange, as in the standard
//! library, would wait until all stores under the lock have reached the cache, and cache lines of shared memory have to be fetched
//! from the peer's processor first. So a waiting thread cannot be woken: it spins and then yields. Waiting is rare, as calls are
//! short and few programs make them in several threads.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Polls before a waiting thread yields the processor.
const SPINS: u32 = 100;

/// A lock that is poisoned if a panic happens under it.
pub struct EndpointLock<T> {
    is_held: AtomicBool,
    is_poisoned: AtomicBool,
    /// Number of threads that wait in [`EndpointLock::lock`].
    waiting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one guard at a time gives access to the value, and it may be used by any thread that can own a `T`.
unsafe impl<T: Send> Sync for EndpointLock<T> {}

// SAFETY: a shared guard gives no more than a shared value.
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

/// A panic under the lock may have left the value inconsistent.
#[derive(Debug)]
pub struct Poisoned;

pub struct Guard<'a, T> {
    lock: &'a EndpointLock<T>,
    was_panicking: bool,
    /// Keeps the guard from being `Sync` where its value is not.
    value: PhantomData<*mut T>,
}

impl<T> EndpointLock<T> {
    pub fn new(value: T) -> EndpointLock<T> {
        let (is_held, is_poisoned) = (AtomicBool::new(false), AtomicBool::new(false));
        EndpointLock { is_held, is_poisoned, waiting: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub fn lock(&self) -> Result<Guard<'_, T>, Poisoned> {
        let guard = self.lock_anyway();
        if self.is_poisoned() { Err(Poisoned) } else { Ok(guard) }
    }

    /// Waits for the lock, and ignores poisoning.
    #[inline]
    pub fn lock_anyway(&self) -> Guard<'_, T> {
        if self.is_held.swap(true, Ordering::Acquire) {
            self.wait();
        }
        self.guard()
    }

    /// `None`: another thread holds it, or waits for it.
    #[inline]
    pub fn try_lock(&self) -> Result<Option<Guard<'_, T>>, Poisoned> {
        // A thread that polls in a loop would otherwise starve waiting ones.
        if self.waiting.load(Ordering::Relaxed) > 0 || self.is_held.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let guard = self.guard();
        if self.is_poisoned() { Err(Poisoned) } else { Ok(Some(guard)) }
    }

    /// Whether a panic occurred under the lock.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Relaxed)
    }

    /// To be called right after taking the lock.
    #[inline]
    fn guard(&self) -> Guard<'_, T> {
        Guard { lock: self, was_panicking: std::thread::panicking(), value: PhantomData }
    }

    #[cold]
    fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut looks = 0;
        loop {
            if !self.is_held.load(Ordering::Relaxed) && !self.is_held.swap(true, Ordering::Acquire) {
                break;
            }
            if looks < SPINS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one until it is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only one until it is dropped, and it is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.was_panicking && std::thread::panicking() {
            self.lock.is_poisoned.store(true, Ordering::Relaxed);
        }
        self.lock.is_held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_at_a_time() {
        let lock = EndpointLock::new(0u64);
        std::thread::scope(|scope| {
            for at in 0..4 {
                let lock = &lock;
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        if at % 2 == 0 {
                            *lock.lock().unwrap() += 1;
                        } else {
                            let mut guard = loop {
                                match lock.try_lock().unwrap() {
                                    Some(guard) => break guard,
                                    None => std::thread::yield_now(),
                                }
                            };
                            *guard += 1;
                        }
                    }
                });
            }
        });
        assert_eq!(*lock.lock().unwrap(), 80_000);
    }

    #[test]
    fn a_panic_under_it_is_remembered() {
        let lock = EndpointLock::new(0);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock.lock().unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err() && lock.is_poisoned());
        assert!(lock.lock().is_err() && lock.try_lock().is_err());
        *lock.lock_anyway() = 1;
        assert!(lock.lock().is_err(), "it stays so");
    }
}
