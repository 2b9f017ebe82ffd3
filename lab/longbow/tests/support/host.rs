//! A thread in a network namespace of its own.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, Uid, getgid, gettid, getuid};

type Task = Box<dyn FnOnce() + Send>;

/// A host; its namespace goes with it and with what was opened there.
pub struct Host {
    pub thread: Pid,
    tasks: Sender<Task>,
}

impl Host {
    pub fn start(name: &str) -> Result<Host> {
        let (tasks, received) = channel::<Task>();
        let (sender, receiver) = channel();
        std::thread::Builder::new().name(name.to_string()).spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid());
            if sender.send(made).is_ok() {
                received.iter().for_each(|task| task());
            }
        })?;
        let thread = receiver.recv()?.context("cannot make a network namespace")?;
        Ok(Host { thread, tasks })
    }

    pub fn namespace(&self) -> PathBuf {
        format!("/proc/{}/task/{}/ns/net", std::process::id(), self.thread).into()
    }

    /// Does `work` on this host and waits for it.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        self.begin(work).wait()
    }

    /// Does `work` on this host meanwhile.
    pub fn begin<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Begun<T> {
        let (sender, receiver) = channel();
        // A thread of its own, born into the same namespace, so that more can be done meanwhile. If the host is gone,
        // nobody tells.
        let _ = self.tasks.send(Box::new(move || {
            std::thread::spawn(move || sender.send(work()));
        }));
        Begun(receiver)
    }
}

/// Work that goes on.
pub struct Begun<T>(Receiver<Result<T>>);

impl<T> Begun<T> {
    pub fn wait(self) -> Result<T> {
        self.0.recv().context("the host is gone")?
    }
}

/// Lets this process make namespaces, if it is not root. To be called before there are threads.
pub fn permit() -> Result<()> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    let (uid, gid) = (getuid(), getgid());
    // A network as well, since links are made from a network that one owns.
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).context("this user may not make user namespaces")?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(())
}
