//! Storages: packages of Debian into a folder of their own, without installing them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::progress::Progress;
use super::server;
use crate::mpi::stacks::packages::STAMP;
use crate::say;
use crate::storage::{Description, packages};
use crate::system::{private_folder, programs};

/// Folders that are parts of `/usr` today, and that older packages still name.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Fetches the packages of `described` unless they are complete, or in any case with `force`, with all
/// libraries that they need.
///
/// # Errors
/// Describes the missing prerequisite.
pub fn install(described: &Description, force: bool) -> Result<()> {
    let (name, folder) = (&described.name, packages::folder(described)?);
    if described.packages.is_empty() {
        say!("{name}: nothing to fetch");
        return Ok(());
    }
    if packages::are_complete(described)? && !force {
        say!("{name}: already there ({})", packages::version(described).unwrap_or_default());
        return Ok(());
    }
    for tool in ["apt-get", "dpkg-deb"] {
        let missing = || format!("{tool} is missing: storages come from Debian's archive, by Debian's tools");
        programs::find(tool).with_context(missing)?;
    }
    // Only the stamp makes it count.
    super::packages::clear(&folder)?;
    let progress = Progress::start(name);
    progress.step("asking apt for dependencies");
    let versions = needed(described)?;
    progress.step(&format!("fetching {} packages of Debian. Licence: {}", versions.len(), described.licence));
    let archives = fetch(&progress, &versions)?;
    progress.step("unpacking");
    unpack(archives.path(), &folder)?;
    let stamp = format!("{}{}\n", packages::stamp(described), versions.join("\n"));
    fs::write(folder.join(STAMP), stamp).with_context(|| format!("cannot write to {}", folder.display()))?;
    drop(progress);
    say!("{name}: ready ({} {})", described.packages[0], packages::version(described).unwrap_or_default());
    Ok(())
}

/// Its packages, and all libraries that they need, each as `NAME=VERSION`.
fn needed(described: &Description) -> Result<Vec<String>> {
    let mut apt = Command::new("apt-get");
    // As if this machine had none of them: installed packages could be removed later.
    apt.args(["install", "--simulate", "--no-install-recommends"]);
    apt.args(["-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1"]);
    apt.args(&described.packages).env("LC_ALL", "C");
    let about = || format!("apt does not know the packages ({}; storages are tried with Debian 12)", state_of_lists());
    let output = programs::run_quietly(&mut apt, "").with_context(about)?;
    let packages = output.lines().filter_map(installed);
    let wanted = packages.filter(|(name, _)| described.packages.contains(name) || is_library(name));
    Ok(wanted.map(|(name, version)| format!("{name}={version}")).collect())
}

/// Whether a package is a library for programs, and not the C library, which belongs to the machine's loader.
fn is_library(name: &str) -> bool {
    let others = ["perl", "python", "pam-modules"];
    name.starts_with("lib") && name != "libc6" && !others.iter().any(|other| name.contains(other))
}

/// Package in a line of apt's simulation: `Inst NAME [OLD] (VERSION ORIGIN [ARCHITECTURE])`.
fn installed(line: &str) -> Option<(String, String)> {
    let mut words = line.strip_prefix("Inst ")?.split(' ');
    let name = words.next()?;
    let version = words.find_map(|word| word.strip_prefix('('))?;
    Some((name.to_string(), version.to_string()))
}

/// The folder of the packages' archives.
fn fetch(progress: &Progress, versions: &[String]) -> Result<TempDir> {
    let archives = private_folder::make("fishplate-archives-").context("cannot make a folder for packages")?;
    give_to_apt(archives.path());
    let mut apt = Command::new("apt-get");
    apt.args(["download", "-o", "Debug::NoLocking=1"]).args(versions);
    apt.current_dir(archives.path()).env("LC_ALL", "C");
    let problem = || {
        let server = archive(versions).map_or(String::new(), |url| format!("{}; ", server::reachability(&url)));
        format!("cannot fetch from Debian's archive ({server}{})", state_of_lists())
    };
    progress.run(apt).with_context(problem)?;
    Ok(archives)
}

/// Root's apt talks to the network as a user of its own, who can write there then. Where it has none it does so as root.
fn give_to_apt(folder: &Path) {
    let user = programs::run_quietly(Command::new("id").args(["-u", "_apt"]), "")
        .ok()
        .and_then(|said| said.trim().parse().ok());
    // For others than root this fails, and their apt is nobody else.
    let _ = std::os::unix::fs::chown(folder, user, None);
}

/// The archive from which apt would fetch the first of them.
fn archive(versions: &[String]) -> Option<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["download", "--print-uris", "-o", "Debug::NoLocking=1"]).args(versions.first()).env("LC_ALL", "C");
    let output = programs::run_quietly(&mut apt, "").ok()?;
    Some(output.strip_prefix('\'')?.split('\'').next()?.to_string())
}

/// Unpacks all archives into the folder.
fn unpack(archives: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let entries = fs::read_dir(archives).with_context(|| format!("cannot read {}", archives.display()))?;
    for archive in entries.flatten() {
        programs::run_quietly(Command::new("dpkg-deb").arg("-x").arg(archive.path()).arg(folder), "")?;
    }
    for old in MERGED.map(|name| folder.join(name)).into_iter().filter(|old| old.is_dir()) {
        programs::run_quietly(Command::new("cp").arg("-a").arg(&old).arg(folder.join("usr")), "")?;
        fs::remove_dir_all(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

/// Folder of apt's lists.
const LISTS: &str = "/var/lib/apt/lists";
const DAY_S: u64 = 86_400;

/// Short description of the state of apt's lists: how old they are.
fn state_of_lists() -> String {
    state_in(Path::new(LISTS), SystemTime::now())
}

fn state_in(folder: &Path, now: SystemTime) -> String {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let lists = files.filter(|file| file.file_name().to_string_lossy().contains("_Packages"));
    // Servers tell when a list was made; when it was fetched is when its place in the folder was last changed.
    let fetched = lists.count() > 0;
    let changed = fs::metadata(folder).and_then(|data| data.modified()).ok().filter(|_| fetched);
    let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default().as_secs() / DAY_S);
    match age {
        None => "apt has no lists of packages: `apt-get update`, as root, fetches them".into(),
        Some(0) => "apt's lists of packages are of the last 24 hours".into(),
        Some(days) => format!(
            "apt's lists of packages are {days} day{} old: `apt-get update`, as root, fetches new ones",
            if days == 1 { "" } else { "s" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_installations_of_apt_are_read() {
        let line = "Inst libnfs13 [4.0.0-1] (4.0.0-1+deb12u1 Debian-Security:12/oldstable-security [amd64])";
        assert_eq!(installed(line).unwrap(), ("libnfs13".to_string(), "4.0.0-1+deb12u1".to_string()));
        assert_eq!(installed("Conf libaio1 (0.3.113-4 Debian:12.15/oldstable [amd64])"), None);
        assert!(is_library("libaio1") && !is_library("libc6") && !is_library("libperl5.36") && !is_library("adduser"));
    }

    use std::time::Duration;

    #[test]
    fn lists_have_an_age() {
        let folder = tempfile::tempdir().unwrap();
        let after = |days: u64| state_in(folder.path(), SystemTime::now() + Duration::from_secs(days * DAY_S));
        fs::create_dir(folder.path().join("partial")).unwrap();
        assert!(after(0).starts_with("apt has no lists of packages: "));
        fs::write(folder.path().join("deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages.lz4"), "")
            .unwrap();
        assert_eq!(after(0), "apt's lists of packages are of the last 24 hours");
        assert!(after(1).starts_with("apt's lists of packages are 1 day old: "));
        assert!(after(30).starts_with("apt's lists of packages are 30 days old: "));
        assert!(state_in(Path::new("/no/such"), SystemTime::now()).starts_with("apt has no lists"));
    }
}
