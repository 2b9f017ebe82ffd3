//! Runs code in another network namespace.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

/// Runs `work` in `namespace`. Sockets and devices that it opens keep belonging to that namespace.
///
/// Uses a thread of its own: in a user namespace, returning to the original namespace may not be permitted.
pub fn within<T: Send>(namespace: &Path, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let shown = namespace.display();
    let there = File::open(namespace).with_context(|| format!("cannot open namespace {shown}"))?;
    let visit = || {
        setns(&there, CloneFlags::CLONE_NEWNET)
            .context("this takes root, or the user namespace that owns the network (CAP_SYS_ADMIN)")
            .with_context(|| format!("cannot enter namespace {shown}"))?;
        work().with_context(|| format!("in namespace {shown}"))
    };
    let joined = std::thread::scope(|scope| scope.spawn(visit).join());
    joined.map_err(|_| anyhow!("a visit to namespace {shown} ended in a panic"))?
}
