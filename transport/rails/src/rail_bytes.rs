//! Bytes that this process has sent and received over its rails, for readers in the process: profiles of MPI programs.
//! [`crate::live`] is for readers outside of it, and is written less often.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts of a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RailBytes {
    /// Its name.
    pub name: String,
    /// Bytes sent since the start, by all endpoints.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// Whether there is a reader.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
/// The rails of each endpoint so far.
static ENDPOINTS: Mutex<Vec<Vec<RailBytes>>> = Mutex::new(Vec::new());

/// The counts of all endpoints, which publish them from the first call on.
pub fn all() -> Vec<RailBytes> {
    IS_WANTED.store(true, Ordering::Relaxed);
    let endpoints = ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sums: Vec<RailBytes> = Vec::new();
    for rail in endpoints.iter().flatten() {
        match sums.iter_mut().find(|sum| sum.name == rail.name) {
            Some(sum) => (sum.sent, sum.received) = (sum.sent + rail.sent, sum.received + rail.received),
            None => sums.push(rail.clone()),
        }
    }
    sums
}

/// Publishes the counts of an endpoint.
pub struct Publisher {
    endpoint: usize,
}

impl Publisher {
    /// Adds an endpoint with these rails.
    pub fn begin(names: impl Iterator<Item = String>) -> Publisher {
        let mut endpoints = ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.push(names.map(|name| RailBytes { name, sent: 0, received: 0 }).collect());
        Publisher { endpoint: endpoints.len() - 1 }
    }

    /// Whether there is a reader.
    pub fn is_wanted(&self) -> bool {
        IS_WANTED.load(Ordering::Relaxed)
    }

    /// Bytes sent and received by each rail, in the order of [`Publisher::begin`].
    pub fn publish(&self, bytes: impl Iterator<Item = (u64, u64)>) {
        let mut endpoints = ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rails) = endpoints.get_mut(self.endpoint) else { return };
        rails.iter_mut().zip(bytes).for_each(|(rail, (sent, received))| (rail.sent, rail.received) = (sent, received));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_summed_by_rail_once_somebody_looks() {
        let names = |names: &[&str]| names.iter().map(|name| format!("test-{name}")).collect::<Vec<_>>().into_iter();
        let (one, two) = (Publisher::begin(names(&["r0", "r1"])), Publisher::begin(names(&["r1"])));
        all();
        assert!(one.is_wanted());
        one.publish([(1, 2), (10, 20)].into_iter());
        two.publish([(100, 200)].into_iter());
        let found: Vec<RailBytes> = all().into_iter().filter(|rail| rail.name.starts_with("test-")).collect();
        let rail = |name: &str, sent, received| RailBytes { name: format!("test-{name}"), sent, received };
        assert_eq!(found, [rail("r0", 1, 2), rail("r1", 110, 220)]);
    }
}
