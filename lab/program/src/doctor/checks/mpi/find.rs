//! The MPI library that belongs to a launcher.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::mpi::stacks::Abi;
use crate::system::{child_process, programs};

/// Time limit for a launcher to print its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// Folders of libraries, beside the folder of programs: `lib/release` is Intel's, those of an architecture are
/// Debian's, the last is Red Hat's.
const FOLDERS: [&str; 6] =
    ["lib", "lib64", "lib/release", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64/openmpi/lib"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub launcher: PathBuf,
    pub library: PathBuf,
}

/// The MPI of a launcher: by default of `mpiexec` in PATH.
pub fn find(launcher: Option<&Path>) -> Result<Found, String> {
    let named = launcher.map(Path::to_path_buf);
    let launcher = named.or_else(|| programs::find("mpiexec")).ok_or("there is no mpiexec in PATH")?;
    let mut version = Command::new(&launcher);
    version.arg("--version").stdin(Stdio::null());
    let output = child_process::output_within(version, PATIENCE)
        .map_err(|error| format!("cannot get the version of {}: {error:#}", launcher.display()))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let family =
        family(&text).ok_or_else(|| format!("{} is of an unknown MPI: {}", launcher.display(), first_line(&text)))?;
    let library = library(&launcher, family).ok_or_else(|| {
        format!("the library of {} is not in {} beside its folder", launcher.display(), FOLDERS[..2].join(" or "))
    })?;
    Ok(Found { launcher, library })
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it prints nothing")
}

/// By a launcher's version output.
fn family(text: &str) -> Option<Abi> {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["Open MPI", "OpenRTE", "PRRTE", "prterun"]) {
        Some(Abi::OpenMpi)
    } else {
        has(&["HYDRA", "Hydra", "MPICH", "Intel(R) MPI"]).then_some(Abi::Mpich)
    }
}

/// Beside the folder that the launcher is in, or that in which it really is.
fn library(launcher: &Path, family: Abi) -> Option<PathBuf> {
    let real = fs::canonicalize(launcher).ok();
    let roots = [Some(launcher), real.as_deref()].into_iter().flatten();
    let roots: Vec<&Path> = roots.filter_map(|file| file.parent()?.parent()).collect();
    let in_folder = |folder: &&str| roots.iter().find_map(|root| library_in(&root.join(folder), family));
    FOLDERS.iter().find_map(in_folder)
}

/// The shared library of a family in a folder, by its name for the dynamic linker.
fn library_in(folder: &Path, family: Abi) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| rank(name, family).is_some()).collect();
    names.sort_by_key(|name| (rank(name, family), name.len()));
    names.first().map(|name| folder.join(name))
}

/// How well a file name fits; the least is the best. MPICH's number has been 12 since its version 3.2, Open MPI's 40 since 3.
fn rank(name: &str, family: Abi) -> Option<u8> {
    let number = |stem: &str| name.strip_prefix(stem)?.split('.').next()?.parse::<u32>().ok();
    let is_mpich = |number: u32| number < 20;
    match (family, number("libmpich.so."), number("libmpi.so.")) {
        // Debian keeps both families in one folder.
        (Abi::Mpich, Some(_), _) => Some(0),
        (Abi::Mpich, _, Some(number)) if is_mpich(number) => Some(1),
        (Abi::OpenMpi, _, Some(number)) if !is_mpich(number) => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_say() {
        for (text, is) in [
            ("HYDRA build details:\n    Version: 5.0.2\n", Some(Abi::Mpich)),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.13", Some(Abi::Mpich)),
            ("mpiexec (OpenRTE) 4.1.4\n", Some(Abi::OpenMpi)),
            ("mpiexec (Open MPI) 5.0.11\n", Some(Abi::OpenMpi)),
            ("LAM 7.1", None),
        ] {
            assert_eq!(family(text), is, "{text}");
        }
    }

    #[test]
    fn of_two_families_in_one_folder_each_finds_its_own() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/x86_64-linux-gnu");
        fs::create_dir_all(&folder).unwrap();
        let put = |name: &str| fs::write(folder.join(name), "").unwrap();
        ["libmpi.so", "libmpi.so.40.30.4", "libmpi.so.40", "libmpi_cxx.so.40"].into_iter().for_each(put);
        let launcher = root.path().join("bin/mpiexec");
        assert_eq!(library(&launcher, Abi::OpenMpi), Some(folder.join("libmpi.so.40")));
        assert_eq!(library(&launcher, Abi::Mpich), None);
        put("libmpi.so.12");
        assert_eq!(library(&launcher, Abi::Mpich), Some(folder.join("libmpi.so.12")));
        put("libmpich.so.12");
        assert_eq!(library(&launcher, Abi::Mpich), Some(folder.join("libmpich.so.12")));
    }

    #[test]
    fn a_launcher_that_is_none_is_reported() {
        let error = find(Some(Path::new("/no/such/mpiexec"))).unwrap_err();
        assert!(error.contains("/no/such/mpiexec"), "{error}");
        let error = find(Some(Path::new("/bin/true"))).unwrap_err();
        assert!(error.contains("is of an unknown MPI"), "{error}");
    }
}
