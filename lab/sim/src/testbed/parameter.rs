//! A number of a testbed, with where it comes from.

use serde::Deserialize;

/// A number with its source: what was measured or published, or an assumption with its range.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The number, in the unit that its name ends with.
    pub value: f64,
    /// A row of the facts (kind C), a sentence of the paper, or a specification.
    pub source: Option<String>,
    /// Reason for this number, if it is not published.
    pub assumed: Option<String>,
    /// Range of plausible values: minimum and maximum.
    pub range: Option<[f64; 2]>,
}

impl Parameter {
    /// Describes the first error, if any.
    pub fn check(&self) -> Result<(), String> {
        if !self.value.is_finite() || self.value < 0.0 {
            return Err(format!("{} is not a number from 0 on", self.value));
        }
        match (&self.source, &self.assumed, self.range) {
            (Some(_), None, None) => Ok(()),
            (None, Some(_), Some([least, greatest])) if least <= self.value && self.value <= greatest => Ok(()),
            (None, Some(_), Some(_)) => Err("the value lies outside of its range".into()),
            (None, Some(_), None) => Err("an assumption needs its range".into()),
            _ => Err("it needs either a source, or an assumption with a range".into()),
        }
    }
}

/// Every parameter of a testbed's text, with its path: `rail.0.bus.read_mb_s`.
pub fn all(table: &toml::Table) -> Result<Vec<(String, Parameter)>, String> {
    let mut found = Vec::new();
    collect(String::new(), &toml::Value::Table(table.clone()), &mut found)?;
    Ok(found)
}

fn collect(path: String, value: &toml::Value, found: &mut Vec<(String, Parameter)>) -> Result<(), String> {
    let under = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
    match value {
        toml::Value::Table(table) if table.contains_key("value") => {
            let parameter: Parameter = value.clone().try_into().map_err(|error| format!("{path}: {error}"))?;
            parameter.check().map_err(|error| format!("{path}: {error}"))?;
            found.push((path, parameter));
        }
        toml::Value::Table(table) => {
            for (name, value) in table {
                collect(under(name), value, found)?;
            }
        }
        toml::Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                collect(under(&index.to_string()), value, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Gives the parameter or setting at `path` another value. Of several rails or clusters, one is named by its name or by its
/// position: `rail.fast.link.mbit`, `rail.0.link.mbit`.
///
/// # Errors
/// When there is none.
pub fn set(table: &mut toml::Table, path: &str, value: &str) -> Result<(), String> {
    let mut names = path.split('.');
    let first = names.next().unwrap_or_default();
    let missing = |known: Vec<String>| format!("the testbed has no {path}: there are {}", known.join(", "));
    let known = table.keys().cloned().collect();
    let mut place = table.get_mut(first).ok_or_else(|| missing(known))?;
    let mut parent = first.to_string();
    for name in names {
        let known = keys(place).into_iter().map(|key| format!("{parent}.{key}")).collect::<Vec<_>>();
        place = child(place, name).ok_or_else(|| match known.is_empty() {
            true => format!("the testbed has no {path}"),
            false => missing(known),
        })?;
        parent = format!("{parent}.{name}");
    }
    if let toml::Value::Table(table) = place {
        place = table.get_mut("value").ok_or_else(|| format!("{path} is not one value"))?;
    }
    let new = match place {
        toml::Value::String(_) => toml::Value::String(value.to_string()),
        toml::Value::Boolean(_) => value.parse().map(toml::Value::Boolean).map_err(|_| not_valid(path, value))?,
        toml::Value::Integer(_) if value.parse::<i64>().is_ok() => {
            value.parse().map(toml::Value::Integer).map_err(|_| not_valid(path, value))?
        }
        toml::Value::Integer(_) | toml::Value::Float(_) => {
            let number: f64 = value.parse().map_err(|_| not_valid(path, value))?;
            toml::Value::Float(number)
        }
        _ => return Err(format!("{path} is not one value")),
    };
    *place = new;
    Ok(())
}

fn child<'t>(place: &'t mut toml::Value, name: &str) -> Option<&'t mut toml::Value> {
    match place {
        toml::Value::Table(table) => table.get_mut(name),
        toml::Value::Array(array) => {
            let named = array.iter().position(|entry| name_of(entry) == Some(name));
            array.get_mut(named.or_else(|| name.parse().ok())?)
        }
        _ => None,
    }
}

/// Names valid after a dot.
fn keys(place: &toml::Value) -> Vec<String> {
    match place {
        toml::Value::Table(table) => table.keys().cloned().collect(),
        toml::Value::Array(array) => {
            let name = |(index, entry)| name_of(entry).map_or_else(|| format!("{index}"), str::to_string);
            array.iter().enumerate().map(name).collect()
        }
        _ => Vec::new(),
    }
}

fn name_of(entry: &toml::Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

fn not_valid(path: &str, value: &str) -> String {
    format!("{path} cannot be {value:?}")
}
