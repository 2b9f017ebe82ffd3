//! Inputs from a seed: random bytes, and examples with mistakes in them.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// Longest input of random bytes.
const LONGEST: u64 = 160;
/// Most mistakes put into an example.
const MAX_MISTAKES: u64 = 4;

/// Input number `run` of a seed. The same numbers and examples give the same input.
pub fn input(seed: u64, run: u64, examples: &[Vec<u8>]) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed.rotate_left(32) ^ run);
    let mut below = |end: u64| if end == 0 { 0 } else { rng.u64(..end) };
    if examples.is_empty() || below(2) == 0 {
        return (0..below(LONGEST)).map(|_| below(256) as u8).collect();
    }
    let mut bytes = examples[below(examples.len() as u64) as usize].clone();
    for _ in 0..=below(MAX_MISTAKES) {
        let at = below(bytes.len() as u64) as usize;
        match below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, below(256) as u8),
            2 => bytes.extend_from_slice(&examples[below(examples.len() as u64) as usize]),
            // Numbers at the ends of their range.
            3 => bytes.iter_mut().skip(at).take(below(9) as usize).for_each(|byte| *byte = 0xff),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << below(8)),
        }
    }
    bytes
}

/// The examples of a target, in the order of their names.
pub fn examples(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|at| at.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}
