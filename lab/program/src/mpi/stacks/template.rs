//! Values of a description with `{names}` in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::wheels::{self, Wheels};
use crate::mpi::provider_library;

/// Values of the placeholders `{name}`.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// `{root}`: the folder of the stack's own installation.
    pub root: Option<PathBuf>,
    /// `{rails}`, `{rail}` (the first, which is the best) and `{rail_count}`. Without any, what names them is left out:
    /// the stack then chooses by itself.
    pub rails: Vec<String>,
}

/// Environment variables for programs of an MPI library from PyPI.
pub fn wheels_variables(wheels: &'static Wheels) -> Result<Vec<(String, String)>> {
    let values = Values { root: Some(wheels.folder()?), ..Values::default() };
    fill_all(&wheels.environment, &values).with_context(|| wheels.name.clone())
}

/// Fills in all values of an environment; omits those that refer to rails that are not named.
pub fn fill_all(environment: &BTreeMap<String, String>, values: &Values) -> Result<Vec<(String, String)>> {
    let mut filled = Vec::new();
    for (name, template) in environment {
        let value = fill(template, values).with_context(|| format!("the value of {name}"))?;
        filled.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(filled)
}

/// `template` with its placeholders filled in; `None` if it refers to rails that are not named.
pub fn fill(template: &str, values: &Values) -> Result<Option<String>> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else { bail!("\"{template}\" has a {{ without }}") };
        filled += before;
        match value_of(name, values)? {
            Some(value) => filled += &value,
            None => return Ok(None),
        }
        rest = behind;
    }
    Ok(Some(filled + rest))
}

fn value_of(name: &str, values: &Values) -> Result<Option<String>> {
    let path = |path: PathBuf| path.into_os_string().into_string().ok().context("a path is not UTF-8");
    Ok(match name {
        "rail" => values.rails.first().cloned(),
        "rails" if values.rails.is_empty() => None,
        "rails" => Some(values.rails.join(",")),
        "rail_count" if values.rails.is_empty() => None,
        "rail_count" => Some(values.rails.len().to_string()),
        "provider" => Some(path(provider_library::provider_folder()?)?),
        "root" => Some(path(values.root.clone().context("{root} needs `wheels` or `path`")?)?),
        _ => match name.strip_prefix("wheels.") {
            Some(wheels) => Some(path(wheels::find(wheels)?.folder()?)?),
            None => {
                bail!("{{{name}}} is unknown; there are {{rail}}, {{rails}}, {{rail_count}}, {{root}}, {{provider}}")
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, rails: &[&str]) -> Option<String> {
        let rails = rails.iter().map(|rail| rail.to_string()).collect();
        fill(template, &Values { root: Some("/opt/mpi".into()), rails }).unwrap()
    }

    #[test]
    fn names_are_filled_in() {
        assert_eq!(filled("plain", &[]).as_deref(), Some("plain"));
        assert_eq!(filled("a{rail}b{rails}c{rail_count}", &["r0", "r1"]).as_deref(), Some("ar0br0,r1c2"));
        assert_eq!(filled("{root}/lib", &[]).as_deref(), Some("/opt/mpi/lib"));
    }

    #[test]
    fn words_about_unnamed_rails_are_left_out() {
        assert_eq!(filled("{rails}", &[]), None);
        assert_eq!(filled("x{rail}", &[]), None);
    }

    #[test]
    fn the_embedded_wheels_have_sound_values() {
        wheels::all().iter().for_each(|wheels| drop(wheels_variables(wheels).unwrap()));
    }

    #[test]
    fn mistakes_are_reported() {
        let error = |template: &str| fill(template, &Values::default()).unwrap_err().to_string();
        assert!(error("{nic}").contains("{nic} is unknown"));
        assert!(error("{rail").contains("without }"));
        assert!(error("{root}").contains("`path`"));
    }
}
