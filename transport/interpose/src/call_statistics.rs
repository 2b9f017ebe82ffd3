//! Counts how often each algorithm was used, for the file of `FISHPLATE_COLLECTIVES_LOG`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use fishplate_collectives::{Algorithm, ClusterMap};
use fishplate_guest::file_limit::LimitedFile;
use fishplate_guest::output_file;

use crate::sync::lock;

#[derive(Clone, Debug)]
pub struct CallStatistics {
    clusters: Vec<usize>,
    calls: BTreeMap<(&'static str, &'static str), u64>,
}

impl CallStatistics {
    pub fn of(map: &ClusterMap) -> CallStatistics {
        let clusters = map.clusters().map(|cluster| map.members(cluster).len()).collect();
        CallStatistics { clusters, calls: BTreeMap::new() }
    }

    pub fn count(&mut self, operation: &'static str, algorithm: Algorithm) {
        *self.calls.entry((operation, algorithm.family())).or_default() += 1;
    }
}

/// Ranks in each cluster, operation, algorithm.
type Key = (Vec<usize>, &'static str, &'static str);

/// Counts of all communicators.
static TOTALS: Mutex<BTreeMap<Key, u64>> = Mutex::new(BTreeMap::new());

/// Adds the counts of a communicator to the totals written by [`write()`].
pub fn add(statistics: CallStatistics) {
    let mut totals = lock(&TOTALS);
    for ((operation, algorithm), calls) in statistics.calls {
        *totals.entry((statistics.clusters.clone(), operation, algorithm)).or_default() += calls;
    }
}

/// Writes a line of JSON for each kind of communicator, operation and algorithm.
pub fn write(file: &Path) {
    let mut text = String::new();
    for ((clusters, operation, algorithm), calls) in std::mem::take(&mut *lock(&TOTALS)) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            r#"{{"clusters":{clusters:?},"operation":"{operation}","algorithm":"{algorithm}","calls":{calls}}}"#
        );
    }
    append(file, &text);
}

/// Appends lines to a file to which other processes may append too.
pub fn append(file: &Path, lines: &str) {
    let written =
        output_file::append(file).and_then(LimitedFile::behind).and_then(|mut file| file.write_all(lines.as_bytes()));
    if let Err(error) = written {
        fishplate_guest::report(format_args!("cannot write to {}: {error}", file.display()));
    }
}
