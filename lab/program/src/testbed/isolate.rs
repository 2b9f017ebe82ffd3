//! Isolation: the program starts itself again in namespaces of its own, which vanish with it.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Uid, getgid, getuid};
use tempfile::TempDir;

use crate::system::child_process::Signals;
use crate::system::{private_folder, programs};

/// How the folder of a testbed begins.
const FOLDER_PREFIX: &str = "fishplate-testbed-";
/// File in that folder which its testbed keeps locked.
const LOCK: &str = "lock";
/// Longest path of a temporary folder that is used: MPI libraries put sockets below it, whose names have 108 bytes at
/// most (unix(7)) and 40 or so of their own.
const MAX_TEMPORARY_LEN: usize = 64;
/// A folder younger than this may still be about to be locked.
const SETTLING: Duration = Duration::from_secs(10);
/// How long the part inside may take to clean up after a signal: it gives its own child
/// [`crate::system::child_process::GRACE`].
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts this program with its own arguments and `--inside FOLDER`, as the first process of new namespaces: when it
/// ends, or this process does, the kernel ends everything that it started.
pub fn run_again_inside() -> Result<ExitCode> {
    programs::iproute2("ip")?;
    programs::iproute2("tc")?;
    remove_leftovers();
    let folder = private_folder::make_in(&temporary(), FOLDER_PREFIX);
    let folder = folder.context("cannot make a temporary folder")?;
    let _lock = lock(&folder)?;

    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut args: Vec<OsString> = vec!["--inside".into(), folder.path().into()];
    args.extend(std::env::args_os().skip(1));

    let signals = Signals::take()?;
    become_parent_of_namespaces()?;
    // It inherits the blocked signals on purpose: the first process of a namespace never gets one that it neither
    // blocks nor handles, and so would miss what comes before it takes them itself.
    let mut child = Command::new(program).args(args).spawn().context("cannot run this program inside")?;
    let ended = signals.wait(&mut child, Some(PATIENCE))?;
    folder.close().context("cannot remove the temporary folder")?;
    Ok(ended.exit_code())
}

/// To be called first by the program that finds itself inside: mounts, network and life of its own.
pub fn settle() -> Result<()> {
    ensure!(std::process::id() == 1, "--inside is for this program's own use");
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    settle_alone()
}

/// As [`settle`], for a program that outlives its parent.
pub fn settle_alone() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).map_err(refused)?;
    make_mounts_private()?;
    // Refused where a container hides parts of /proc; then the outer /proc stays, which suffices.
    let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>);
    bring_up_loopback()
}

/// Brings up the loopback interface of a new network.
pub fn bring_up_loopback() -> Result<()> {
    programs::run_quietly(Command::new(programs::iproute2("ip")?).args(["link", "set", "lo", "up"]), "")
        .context("cannot bring up the loopback interface of a new network namespace")?;
    Ok(())
}

/// Leaves the network of this process, and all that was built in it, for an empty one.
pub fn begin_network() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?;
    bring_up_loopback()
}

/// Keeps mounts made from now on from showing up elsewhere.
pub fn make_mounts_private() -> Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(refused)
        .context("cannot make mounts private")
}

/// From here on children are born into a new process namespace, with rights over what they make.
pub fn become_parent_of_namespaces() -> Result<()> {
    if Uid::effective().is_root() {
        return unshare(CloneFlags::CLONE_NEWPID).map_err(refused);
    }
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID).map_err(refused)?;
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).with_context(|| format!("cannot write /proc/self/{file}"))
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("0 {uid} 1"))?;
    write("gid_map", format!("0 {gid} 1"))
}

/// Why namespaces could not be had, and what to do.
fn refused(errno: Errno) -> anyhow::Error {
    if matches!(errno, Errno::EPERM | Errno::ENOSPC | Errno::EACCES) {
        let (said, why) = (errno.desc(), refusals(Path::new("/proc")).join("; "));
        return anyhow::anyhow!("this system does not let this user make namespaces ({said}): {why}");
    }
    anyhow::anyhow!("cannot make namespaces: {}", errno.desc())
}

/// Kernel settings and missing rights that refuse namespaces, each with its remedy.
fn refusals(proc: &Path) -> Vec<String> {
    let number = |name: &str| fs::read_to_string(proc.join("sys").join(name)).ok()?.trim().parse::<u64>().ok();
    let mut found = Vec::new();
    for kind in ["user", "net", "pid", "mnt", "uts"] {
        if number(&format!("user/max_{kind}_namespaces")) == Some(0) {
            found.push(format!("user.max_{kind}_namespaces is 0: raise it (sysctl)"));
        }
    }
    let is_root = Uid::effective().is_root();
    for (name, refuses) in [("unprivileged_userns_clone", 0), ("apparmor_restrict_unprivileged_userns", 1)] {
        if number(&format!("kernel/{name}")) == Some(refuses) && !is_root {
            found.push(format!("kernel.{name} is {refuses}: run it as root, or set that to {}", 1 - refuses));
        }
    }
    let status = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let capabilities =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    if is_root && capabilities.is_some_and(|all| all & SYS_ADMIN == 0) {
        found.push("root lacks CAP_SYS_ADMIN here, as in a container: start that with --privileged".into());
    }
    if status.lines().any(|line| line == "Seccomp:\t2") && found.is_empty() {
        found.push("a seccomp filter is in force here, as in a container: let it pass unshare".into());
    }
    if found.is_empty() {
        found.push("no setting of the kernel's explains it, and no seccomp filter is in force".into());
    }
    found
}

/// The capability to make namespaces (capabilities(7)), as a bit.
const SYS_ADMIN: u64 = 1 << 21;

/// Parent of testbeds' folders: `$TMPDIR`, unless MPI launchers could not start programs there.
fn temporary() -> PathBuf {
    let folder = std::env::temp_dir();
    let text = folder.to_string_lossy();
    // Launchers cut the name of a remote shell at spaces.
    let fits = text.len() <= MAX_TEMPORARY_LEN && !text.contains(char::is_whitespace);
    if fits { folder } else { "/tmp".into() }
}

fn lock(folder: &TempDir) -> Result<File> {
    let file = File::create(folder.path().join(LOCK)).context("cannot create a lock file")?;
    file.lock().context("cannot lock a file")?;
    Ok(file)
}

/// Removes folders of testbeds that were killed. (Their namespaces went with them.)
fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(temporary()) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX) && is_abandoned(&entry.path()) {
            // Best effort: what cannot be removed now can be the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(folder) else { return false };
    let old = metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > SETTLING));
    let mine = metadata.is_dir() && metadata.uid() == getuid().as_raw();
    let free = || match File::open(folder.join(LOCK)) {
        Ok(file) => !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_))),
        Err(_) => true,
    };
    old && mine && free()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_refused_namespaces_is_named() {
        let proc = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = proc.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let says = || refusals(proc.path()).join("; ");
        assert_eq!(says(), "no setting of the kernel's explains it, and no seccomp filter is in force");
        put("self/status", "Name:\tx\nSeccomp:\t2\n");
        assert!(says().starts_with("a seccomp filter is in force here"), "{}", says());
        put("sys/user/max_net_namespaces", "0\n");
        put("sys/user/max_user_namespaces", "100\n");
        assert_eq!(says(), "user.max_net_namespaces is 0: raise it (sysctl)");
        put("sys/user/max_net_namespaces", "100\n");
        put("self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
        put("sys/kernel/unprivileged_userns_clone", "0\n");
        let expected =
            if Uid::effective().is_root() { "CAP_SYS_ADMIN" } else { "kernel.unprivileged_userns_clone is 0" };
        assert!(says().contains(expected), "{}", says());
    }
}
