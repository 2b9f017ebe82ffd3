//! Packages of PyPI into a Python environment of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::progress::Progress;
use super::server;
use crate::mpi::stacks::packages::{Packages, STAMP};
use crate::say;
use crate::system::programs;

/// Installs the packages of `name` with the Python `python`; they are complete once `try_out` has succeeded, whose result it
/// returns.
///
/// # Errors
/// Describes the missing prerequisite.
pub fn install(
    packages: &Packages,
    [name, title]: [&str; 2],
    python: &str,
    try_out: &dyn Fn() -> Result<String>,
) -> Result<String> {
    let folder = packages.folder()?;
    check_python(python)?;
    // An environment cannot be moved once made, so it is made in its place; only the stamp makes it count.
    clear(&folder)?;
    say!("{title}: about {} MB to download. Licence: {}", packages.download_mb, packages.licence);
    let progress = Progress::start(name);
    progress.step("making a Python environment");
    let mut venv = isolated(Path::new(python));
    venv.args(["-m", "venv"]).arg(&folder);
    progress.run(venv).with_context(|| format!("cannot make a Python environment in {}", folder.display()))?;

    progress.step(&format!("fetching {}", packages.requirements.join(", ")));
    let hashed = folder.join("requirements.txt");
    fs::write(&hashed, packages.hashed()).with_context(|| format!("cannot write {}", hashed.display()))?;
    let mut pip = isolated(&folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]);
    // Building from source would fetch build dependencies without known hashes.
    pip.args(["--require-hashes", "--only-binary=:all:", "--no-deps", "-r"]).arg(hashed);
    let problem = || format!("cannot install from PyPI ({})", server::reachability(&index(&folder)));
    progress.run(pip).with_context(problem)?;

    progress.step("trying it");
    let version = try_out()?;
    fs::write(folder.join(STAMP), packages.stamp()).with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(version)
}

/// The package index of pip's configuration.
fn index(folder: &Path) -> String {
    let mut pip = isolated(&folder.join("bin/python"));
    pip.args(["-m", "pip", "config", "get", "global.index-url"]);
    let output = programs::run_quietly(&mut pip, "").ok().map(|text| text.trim().to_string());
    let named = std::env::var("PIP_INDEX_URL").ok().or(output).filter(|url| url.contains("://"));
    named.unwrap_or_else(|| "https://pypi.org/simple".into())
}

/// Removes a folder of packages, if it is there: at first its stamp, so that it does not count any more.
pub fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        let _ = fs::remove_file(folder.join(STAMP));
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove the old {}", folder.display()))?;
    }
    Ok(())
}

/// Python that imports no modules from the current folder, the user's site folder or PYTHONPATH: other users who may write
/// there must not affect the installation.
fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I");
    command
}

fn check_python(python: &str) -> Result<()> {
    let path = if python.contains('/') { Some(PathBuf::from(python)) } else { programs::find(python) };
    let path = path.filter(|path| path.is_file());
    let Some(path) = path else { bail!("{python} was not found: install Python 3.10 or later, or give --python") };
    let mut probe = isolated(&path);
    probe.args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]);
    let new_enough = probe.status().with_context(|| format!("cannot run {}", path.display()))?.success();
    ensure!(new_enough, "{} is older than 3.10: give --python a later one", path.display());
    let mut probe = isolated(&path);
    probe.args(["-c", "import venv, ensurepip"]).stderr(Stdio::null());
    let complete = probe.status().with_context(|| format!("cannot run {}", path.display()))?.success();
    ensure!(complete, "{} lacks the module venv or ensurepip: install the package python3-venv", path.display());
    Ok(())
}
