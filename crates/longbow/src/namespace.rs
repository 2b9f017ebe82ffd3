//! Doing something in another network namespace.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

/// Does `work` with this thread in `namespace`, and returns to where it was. What was opened there stays there.
pub fn within<T>(namespace: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let own = File::open("/proc/thread-self/ns/net").context("cannot open /proc/thread-self/ns/net")?;
    let there = File::open(namespace).with_context(|| format!("cannot open namespace {}", namespace.display()))?;
    enter(&there).with_context(|| format!("cannot enter namespace {}", namespace.display()))?;
    let done = work().with_context(|| format!("in namespace {}", namespace.display()));
    enter(&own).context("cannot leave a namespace")?;
    done
}

fn enter(namespace: &File) -> Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET)
        .context("this takes root, or the user namespace that owns the network (CAP_SYS_ADMIN)")
}
