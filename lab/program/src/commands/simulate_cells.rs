//! Tables of simulated cells: which of them (`--only KEY=LIST`), and their computation on all processors.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow};

/// Group of the options that ask for a table.
pub const TABLE: &str = "table";

/// The two sides of `KEY=LIST`.
pub fn key_and_list(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').with_context(|| format!("--only: {text:?} is not KEY=LIST"))
}

/// All parts of a list.
pub fn all<T>(list: &str, part: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    list.split(',').map(part).collect()
}

/// The one of that name.
pub fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
    found.with_context(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("--only: there is no {name}; there are {}", names.join(", "))
    })
}

/// Rates such as `1000+250`.
pub fn rates(text: &str) -> Result<Vec<u32>> {
    text.split('+').map(number).collect()
}

pub fn number(text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("--only: {text:?} is not a whole number"))
}

/// What `measure` finds of each case, in the order of cases; as many at a time as there are processors.
pub fn on_all_processors<C: Sync, R: Send>(
    cases: &[C],
    measure: impl Fn(&C) -> Result<R, String> + Sync,
) -> Result<Vec<R>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let result = measure(case);
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, result));
        }
    };
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len());
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a simulation panicked")))
    })?;
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result.map_err(|error| anyhow!(error))).collect()
}
