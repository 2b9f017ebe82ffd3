//! The library that stands in front of MPI's collective operations.

use std::env;
use std::path::Path;

use anyhow::{Result, anyhow};

/// What the dynamic linker loads first into every program.
pub const PRELOAD: &str = "LD_PRELOAD";
/// The setting, and the option that wins over it.
pub const VARIABLE: &str = "FISHPLATE_COLLECTIVES";
const OPTION: &str = "--collectives";
const ALLOWED: &str = "cluster, native, coordinators, shared, direct";

/// File name, as `make` and packages put it beside the provider.
const LIBRARY: &str = "libfishplate-mpi.so";
/// What cargo calls it.
const LIBRARY_OF_CARGO: &str = "libfishplate_mpi.so";

/// Variables that load it, unless collective operations are to stay the MPI's own. `given` is the option's value, `folder`
/// where the provider is.
pub fn variables(given: Option<&str>, folder: &Path) -> Result<Vec<(String, String)>> {
    let inherited = env::var(VARIABLE).ok().filter(|value| !value.is_empty());
    let value = given.or(inherited.as_deref());
    let mut variables: Vec<(String, String)> = given.iter().map(|value| (VARIABLE.into(), value.to_string())).collect();
    match value {
        Some("native") => return Ok(variables),
        None | Some("cluster" | "coordinators" | "shared" | "direct") => {}
        Some(wrong) => {
            let option = given.map_or(String::new(), |_| format!("{OPTION}: "));
            return Err(anyhow!("{option}{VARIABLE}=\"{wrong}\" is not a valid setting; allowed: {ALLOWED}"));
        }
    }
    let file = [LIBRARY, LIBRARY_OF_CARGO].map(|name| folder.join(name)).into_iter().find(|file| file.is_file());
    let Some(file) = file else {
        return match value {
            Some(_) => Err(anyhow!("{LIBRARY} is not in {}: `make` builds it and puts it there", folder.display())),
            // Nobody has asked for it.
            None => Ok(variables),
        };
    };
    let file = file.to_str().ok_or_else(|| anyhow!("the path {} is not UTF-8", file.display()))?;
    variables.push((PRELOAD.to_string(), preload(env::var(PRELOAD).ok(), file)));
    Ok(variables)
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
    fn what_the_user_loads_stays_in_front() {
        assert_eq!(preload(None, "/x/ours.so"), "/x/ours.so");
        assert_eq!(preload(Some("theirs.so".into()), "/x/ours.so"), "theirs.so:/x/ours.so");
        assert_eq!(preload(Some("/x/ours.so:theirs.so".into()), "/x/ours.so"), "/x/ours.so:theirs.so");
    }
}
