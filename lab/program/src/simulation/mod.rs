//! Simulated machines: what `fishplate simulate TESTBED` and `fishplate reproduce` have in common. [`print`](mod@print) shows
//! paper against simulation; [`record`] writes simulated values as a record; [`emulated`] is the machine of an emulated link.

pub mod emulated;
pub mod print;
pub mod record;
pub mod sizes;

use anyhow::{Context, Result, anyhow, bail};
use fishplate_sim::testbed::{Description, SHIPPED, Testbed, shipped};

/// A testbed by name, or by its file.
///
/// # Errors
/// When there is none, or it is malformed.
pub fn open(name: &str) -> Result<Description> {
    if let Some(text) = shipped(name) {
        return Description::parse(text).map_err(|error| anyhow!("{name}: {error}"));
    }
    let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let text = std::fs::read_to_string(name).with_context(|| {
        format!("there is no testbed {name}: it is the name of a file, or one of {}", names.join(", "))
    })?;
    Description::parse(&text).map_err(|error| anyhow!("{name}: {error}"))
}

/// A testbed with other values of parameters, each `PATH=VALUE`, as `--set` has them.
///
/// # Errors
/// When there is none, or no such parameter.
pub fn changed(name: &str, changes: &[String]) -> Result<Testbed> {
    let mut description = open(name)?;
    for change in changes {
        let Some((path, value)) = change.split_once('=') else { bail!("--set {change}: PATH=VALUE") };
        description = description.with(path, value).map_err(|error| anyhow!("--set {change}: {error}"))?;
    }
    description.testbed().map_err(|error| anyhow!("{name}: {error}"))
}
