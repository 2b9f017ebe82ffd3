//! The library that stands in front of MPI: for its collective operations, and for profiles.

use std::env;
use std::path::Path;

use anyhow::{Result, anyhow};

/// Variable with the libraries that the dynamic linker loads first into every program.
pub const PRELOAD: &str = "LD_PRELOAD";
/// The setting, and the option that wins over it.
pub const VARIABLE: &str = "FISHPLATE_COLLECTIVES";
const OPTION: &str = "--collectives";
const DEFAULT: &str = "cluster";
const ALLOWED: &str = "cluster, native, coordinators, shared, direct";

/// File name, as `make` and packages put it beside the provider.
const LIBRARY: &str = "libfishplate-mpi.so";
/// Its file name in cargo's builds.
const LIBRARY_OF_CARGO: &str = "libfishplate_mpi.so";

/// Variables that load it, unless collective operations are to stay the MPI's own. `given` is the option's value, which
/// wins over what the stack's own environment says, and that over the user's; `folder` is where the provider is.
pub fn variables(given: Option<&str>, stack: &[(String, String)], folder: &Path) -> Result<Vec<(String, String)>> {
    let inherited = env::var(VARIABLE).ok().filter(|value| !value.is_empty());
    let option = given.map_or(String::new(), |_| format!("{OPTION}: "));
    with_preload(given.or(setting(stack)).or(inherited.as_deref()), &option, folder)
}

/// Variables that load it for a profile, in front of the user's libraries, so that it sees the program's own calls.
///
/// # Errors
/// If the library is missing.
pub fn profiling(folder: &Path) -> Result<[(String, String); 2]> {
    let preload = preload_first(env::var(PRELOAD).ok(), &library(folder)?);
    Ok([(PRELOAD.to_string(), preload), address_sanitizer(env::var(ADDRESS_SANITIZER).ok())])
}

/// Settings of programs that were compiled with `-fsanitize=address`.
pub const ADDRESS_SANITIZER: &str = "ASAN_OPTIONS";

/// They end at once where something was loaded before their own runtime, unless this is set; the library in front of MPI
/// has nothing that the runtime replaces. What the user sets wins.
fn address_sanitizer(before: Option<String>) -> (String, String) {
    let ours = "verify_asan_link_order=0";
    let before = before.filter(|before| !before.is_empty());
    let value = before.map_or(ours.to_string(), |before| match before.contains("verify_asan_link_order") {
        true => before,
        false => format!("{ours}:{before}"),
    });
    (ADDRESS_SANITIZER.to_string(), value)
}

fn preload_first(before: Option<String>, file: &str) -> String {
    let before = before.unwrap_or_default();
    let others = before.split([':', ' ']).filter(|other| !other.is_empty() && *other != file);
    std::iter::once(file).chain(others).collect::<Vec<_>>().join(":")
}

/// The library's file.
fn library(folder: &Path) -> Result<String> {
    let file = [LIBRARY, LIBRARY_OF_CARGO].map(|name| folder.join(name)).into_iter().find(|file| file.is_file());
    let missing = || anyhow!("{LIBRARY} is not in {}: `make` builds it and puts it there", folder.display());
    let file = file.ok_or_else(missing)?;
    file.into_os_string().into_string().map_err(|file| anyhow!("the path {file:?} is not UTF-8"))
}

/// Variables that load it into the programs of a stack with this environment. In measurements the user's environment
/// does not count.
pub fn preloaded(environment: &[(String, String)], folder: &Path) -> Result<Vec<(String, String)>> {
    with_preload(setting(environment), "", folder)
}

/// The setting in a stack's own environment.
fn setting(environment: &[(String, String)]) -> Option<&str> {
    let value = environment.iter().rfind(|(name, _)| name == VARIABLE).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty())
}

/// The setting and the variable that loads the library, if there are any. `value` is the setting as it was given.
fn with_preload(value: Option<&str>, option: &str, folder: &Path) -> Result<Vec<(String, String)>> {
    let preload = preloading(value, option, folder)?;
    // Where the library was loaded to profile, it leaves collective operations alone unless this is set.
    let value = value.or(preload.as_ref().map(|_| DEFAULT));
    let setting = value.map(|value| (VARIABLE.to_string(), value.to_string()));
    let sanitizer = preload.as_ref().map(|_| address_sanitizer(env::var(ADDRESS_SANITIZER).ok()));
    Ok(setting.into_iter().chain(preload).chain(sanitizer).collect())
}

/// `value` is the setting, `option` what it was given by, for messages.
fn preloading(value: Option<&str>, option: &str, folder: &Path) -> Result<Option<(String, String)>> {
    match value {
        Some("native") => return Ok(None),
        None | Some("cluster" | "coordinators" | "shared" | "direct") => {}
        Some(wrong) => {
            return Err(anyhow!("{option}{VARIABLE}=\"{wrong}\" is not a valid setting; allowed: {ALLOWED}"));
        }
    }
    match library(folder) {
        Ok(file) => Ok(Some((PRELOAD.to_string(), preload(env::var(PRELOAD).ok(), &file)))),
        // Nobody has asked for it.
        Err(_) if value.is_none() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Behind what the user loads already: other tools in front of MPI see the program's calls first.
fn preload(before: Option<String>, file: &str) -> String {
    match before.filter(|before| !before.trim().is_empty()) {
        Some(before) if before.split([':', ' ']).any(|loaded| loaded == file) => before,
        Some(before) => format!("{before}:{file}"),
        None => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_user_stay_in_front() {
        assert_eq!(preload(None, "/x/ours.so"), "/x/ours.so");
        assert_eq!(preload(Some("theirs.so".into()), "/x/ours.so"), "theirs.so:/x/ours.so");
        assert_eq!(preload(Some("/x/ours.so:theirs.so".into()), "/x/ours.so"), "/x/ours.so:theirs.so");
    }

    #[test]
    fn sanitizers_may_come_later() {
        let value = |before: Option<&str>| address_sanitizer(before.map(String::from)).1;
        assert_eq!(value(None), "verify_asan_link_order=0");
        assert_eq!(value(Some("detect_leaks=0")), "verify_asan_link_order=0:detect_leaks=0");
        assert_eq!(value(Some("verify_asan_link_order=1")), "verify_asan_link_order=1");
    }

    #[test]
    fn to_profile_it_is_in_front() {
        assert_eq!(preload_first(None, "/x/ours.so"), "/x/ours.so");
        assert_eq!(preload_first(Some("a.so b.so:/x/ours.so".into()), "/x/ours.so"), "/x/ours.so:a.so:b.so");
    }

    #[test]
    fn a_stack_loads_it_unless_its_own_environment_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = |value: Option<&str>| {
            let environment: Vec<_> = value.iter().map(|value| (VARIABLE.to_string(), value.to_string())).collect();
            let variables = preloaded(&environment, folder.path());
            variables.map(|variables| variables.iter().any(|(name, _)| name == PRELOAD))
        };
        // It was not built: an error only where it was asked for.
        assert!(!loaded(None).unwrap());
        assert!(loaded(Some("cluster")).unwrap_err().to_string().contains("libfishplate-mpi.so is not in"));
        std::fs::write(folder.path().join(LIBRARY), "").unwrap();
        assert!(loaded(None).unwrap() && loaded(Some("shared")).unwrap() && !loaded(Some("native")).unwrap());
        let wrong = loaded(Some("fast")).unwrap_err().to_string();
        assert!(wrong.starts_with("FISHPLATE_COLLECTIVES=\"fast\" is not a valid setting"), "{wrong}");
    }
}
