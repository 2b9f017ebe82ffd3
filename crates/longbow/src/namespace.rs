//! Doing something in another network namespace.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

/// Does `work` in `namespace`. What it opens there stays there.
///
/// In a thread of its own, which ends: in a user namespace the way back may be barred.
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
