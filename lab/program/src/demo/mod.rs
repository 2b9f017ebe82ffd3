//! The demonstration: MPI stacks over two unequal rails, side by side. [`measure`] runs the [`stacks`], [`print`](mod@print) shows
//! the results. `fishplate demo` calls this.

pub mod measure;
pub mod print;
pub mod stacks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::output::page::picture::Theme;
use crate::statistics::Spread;

/// Name of the schema in the file of results.
pub const SCHEMA: &str = "fishplate-demo/1";

/// Rates of the rails in Mbit/s.
pub const RAILS_MBIT: [u32; 2] = [1000, 250];

/// Size in bytes of the messages whose latency is measured.
pub const LATENCY_SIZE: u64 = 8;

/// The program whose run time is measured.
pub const APPLICATION: &str = "is";
/// Its name and size, for people.
pub const APPLICATION_TITLE: &str = "NAS IS, class A";

/// Everything that one demonstration found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    pub conditions: Conditions,
    /// The rails, each measured alone.
    pub rails: Vec<RailAlone>,
    /// All rails at once by plain TCP streams, MB/s, one value a round.
    pub sum: Vec<f64>,
    /// The stacks, in the order in which they took turns.
    pub stacks: Vec<StackResults>,
    /// Bytes that Fishplate sent over each rail during the large messages.
    pub shares: Vec<Share>,
}

/// Under which conditions was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conditions {
    pub date: String,
    /// Names and values, in the order to show.
    pub facts: Vec<(String, String)>,
    /// How often each stack had its turn.
    pub rounds: usize,
}

/// A rail by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RailAlone {
    /// Interface.
    pub name: String,
    /// Rate of its shaper.
    pub mbit: u32,
    /// One plain TCP stream, MB/s, one value a round.
    pub alone: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StackResults {
    pub name: String,
    pub rails: String,
    /// Whether its settings contain the rates of the rails.
    #[serde(rename = "told")]
    pub rates_given: bool,
    /// Version of the MPI library, as it says itself.
    pub version: String,
    /// The command line that measured it.
    pub command: String,
    /// Half of a round trip, us, the median of each round.
    pub latency: Vec<f64>,
    /// MB/s by message size, one value a round.
    pub bandwidth: BTreeMap<u64, Vec<f64>>,
    /// Run time of [`APPLICATION`], s, one value a round.
    #[serde(default)]
    pub run_time: Vec<f64>,
    /// Why there are no (more) values.
    pub failure: Option<String>,
}

/// Bytes sent over one rail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Share {
    /// Interface.
    pub rail: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Of all bytes, 0 to 1.
    pub share: f64,
    /// TCP segments sent again.
    pub retransmitted: u64,
}

/// The files of the charts of bandwidth, with their themes.
pub fn picture_files(file: &Path) -> [(PathBuf, Theme); 2] {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    [("", Theme::Light), ("-dark", Theme::Dark)]
        .map(|(ending, theme)| (file.with_file_name(format!("{stem}{ending}.svg")), theme))
}

/// How often each stack had its turn, in words.
pub fn rounds(number: usize) -> String {
    if number == 1 { "one round".into() } else { format!("{number} rounds") }
}

impl Results {
    /// Reads a file of `--keep-json`.
    ///
    /// # Errors
    /// When it cannot be read, is malformed or has another schema.
    pub fn read(file: &Path) -> Result<Results> {
        let problem = || format!("cannot read results from {}", file.display());
        let text = fs::read_to_string(file).with_context(problem)?;
        let results: Results = serde_json::from_str(&text).with_context(problem)?;
        ensure!(results.schema == SCHEMA, "{} has schema {}, not {SCHEMA}", file.display(), results.schema);
        Ok(results)
    }

    /// The charts of bandwidth as files of their own, named by `file`: for a light and for a dark background.
    pub fn pictures(&self, file: &Path) -> [(PathBuf, String); 2] {
        picture_files(file).map(|(file, theme)| (file, print::chart::picture(self, theme)))
    }

    /// Sizes that any stack has values for.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.stacks.iter().flat_map(|stack| stack.bandwidth.keys().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Bandwidth of a stack divided by the sum of the rails' bandwidths in that round.
    pub fn ratio(&self, stack: &StackResults, size: u64) -> Option<Spread> {
        let values = stack.bandwidth.get(&size)?;
        let ratios: Vec<f64> = values.iter().zip(&self.sum).map(|(value, sum)| value / sum).collect();
        Spread::of(&ratios)
    }

    /// Whether the run time of [`APPLICATION`] was measured.
    pub fn has_run_times(&self) -> bool {
        self.stacks.iter().any(|stack| !stack.run_time.is_empty())
    }

    /// The product.
    pub fn fishplate(&self) -> Option<&StackResults> {
        self.stacks.iter().find(|stack| stack.name == stacks::FISHPLATE)
    }

    /// The fastest of the others at a size, with its bandwidth, among those that were given the rates or were not.
    pub fn best_other(&self, size: u64, rates_given: bool) -> Option<(&StackResults, Spread)> {
        let eligible = |stack: &&StackResults| stack.name != stacks::FISHPLATE && stack.rates_given == rates_given;
        let others = self.stacks.iter().filter(eligible);
        let measured = others.filter_map(|stack| Some((stack, Spread::of(stack.bandwidth.get(&size)?)?)));
        measured.max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
    }
}
