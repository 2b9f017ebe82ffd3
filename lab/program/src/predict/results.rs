//! Predictions in a folder: a file for each, so that many processes can share a sweep, and one that was stopped goes on.
//!
//! A file is put in its place once it is whole; its name says what was asked, so nothing is ever found that answers another
//! question, and predictions that two processes make twice are equal.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use fishplate_rails::process;

use super::evaluate::{self, Question};
use super::networks::Network;
use super::prediction::Prediction;
use super::source::Source;
use crate::system::{output_file, whole_file};

/// A folder of them.
pub struct Results {
    folder: PathBuf,
    /// The program and the question, common to all results.
    common: u64,
}

impl Results {
    /// Of a program and a question, in a folder, which is made where there is none.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path, source: &Source, question: &Question<'_>) -> Result<Results> {
        output_file::make_folder(folder).with_context(|| format!("--results {}: cannot make it", folder.display()))?;
        let mut hasher = DefaultHasher::new();
        (env!("CARGO_PKG_VERSION"), source.fingerprint(), question.seed).hash(&mut hasher);
        format!("{:?} {:?}", question.computation, question.changes).hash(&mut hasher);
        Ok(Results { folder: folder.into(), common: hasher.finish() })
    }

    fn file(&self, network: &Network) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.common, &network.name, &network.stack).hash(&mut hasher);
        format!("{:?} {:?}", network.testbed, network.placement).hash(&mut hasher);
        self.folder.join(format!("{:016x}.json", hasher.finish()))
    }

    /// Stored result of a network.
    ///
    /// # Errors
    /// When there is a file that is none of these.
    pub fn find(&self, network: &Network) -> Result<Option<Prediction>> {
        let file = self.file(network);
        let shown = file.display();
        fishplate_guest::output_file::leads_elsewhere(&file)
            .with_context(|| format!("--results: cannot read {shown}"))?;
        let text = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("--results: cannot read {shown}"))?,
        };
        let prediction = serde_json::from_slice(&text);
        prediction.map(Some).map_err(|error| anyhow!("--results: {shown} is no prediction ({error}): remove it"))
    }

    fn keep(&self, network: &Network, prediction: &Prediction) -> Result<()> {
        let part = self.folder.join(format!("{:016x}.part", process::number()));
        whole_file::write_by(&part, &self.file(network), |to| Ok(serde_json::to_writer(to, prediction)?))
    }

    /// Makes the missing predictions for this process's share of the networks; keeps each at once. Returns how many.
    ///
    /// # Errors
    /// When ranks wait for ever, or a file cannot be read or written.
    pub fn complete(
        &self,
        (source, question): (&Source, Question<'_>),
        networks: &[Network],
        share: Share,
    ) -> Result<usize> {
        let mut missing = Vec::new();
        for network in networks.iter().skip(share.number).step_by(share.of) {
            if self.find(network)?.is_none() {
                missing.push(network.clone());
            }
        }
        // As many at a time as there are processors: results are kept before the next ones begin.
        for together in missing.chunks(thread::available_parallelism().map_or(1, usize::from)) {
            let predictions = evaluate::all(source, together, question)?;
            for (network, prediction) in together.iter().zip(&predictions) {
                self.keep(network, prediction)?;
            }
        }
        Ok(missing.len())
    }

    /// All of them, which are there.
    ///
    /// # Errors
    /// When one is missing.
    pub fn all(&self, networks: &[Network]) -> Result<Vec<Prediction>> {
        let one = |network| self.find(network)?.with_context(|| format!("--results: {} has vanished", network.name));
        networks.iter().map(one).collect()
    }
}

/// Which of several processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its number, from 0 on.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// Variables that launchers set: the number of a process, and how many there are.
const VARIABLES: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    // Of the step, not of the job: a batch script is one process, whatever it will start.
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
];

impl Share {
    /// As the launcher says; the whole where there is none. `variable`: the environment.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Share {
        let number = |name: &str| variable(name)?.parse::<usize>().ok();
        let known = VARIABLES.iter().find_map(|[rank, size]| Some((number(rank)?, number(size)?)));
        let (number, of) = known.filter(|(number, of)| number < of).unwrap_or((0, 1));
        Share { number, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_which_process_this_is() {
        let share = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
            let Share { number, of } = Share::of_environment(find);
            (number, of)
        };
        assert_eq!(share(&[]), (0, 1));
        assert_eq!(share(&[("PMI_RANK", "3"), ("PMI_SIZE", "4")]), (3, 4));
        assert_eq!(share(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "1")]), (1, 2));
        let step = [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "8"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert_eq!(share(&step), (5, 8));
        assert_eq!(share(&step[..2]), (0, 1), "a batch script");
        assert_eq!(share(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]), (0, 1));
        assert_eq!(share(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]), (0, 1));
    }
}
