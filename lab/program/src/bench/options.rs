//! Options of a benchmark's program.

use serde::{Deserialize, Serialize};

/// Words of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
pub struct Options(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "`options` is a text of words, or an array of words")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Options {
    pub fn value(&self, name: &str) -> Option<&str> {
        let place = self.place(name)?;
        self.0[place].split_once('=').map(|(_, value)| value).or_else(|| self.0.get(place + 1).map(String::as_str))
    }

    /// Gives an option another value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.extend([name.to_string(), value.to_string()]);
    }

    /// Takes an option out, with its value.
    pub fn remove(&mut self, name: &str) {
        while let Some(place) = self.place(name) {
            let words = if self.0[place] == name { 2 } else { 1 };
            self.0.drain(place..(place + words).min(self.0.len()));
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        let is = |word: &String| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        self.0.iter().position(is)
    }
}

impl From<OneOrMany> for Options {
    fn from(given: OneOrMany) -> Options {
        match given {
            OneOrMany::One(text) => Options(text.split_whitespace().map(String::from).collect()),
            OneOrMany::Many(words) => Options(words),
        }
    }
}

impl From<Options> for Vec<String> {
    fn from(options: Options) -> Vec<String> {
        options.0
    }
}
