//! Comparison of two records: what changed beyond noise. [`print`](mod@print) shows it. `fishplate compare` calls this.

pub mod print;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use crate::record::{self, Better, Record, Sample};
use crate::statistics::{Change, Spread, discoveries};

/// Of the changes reported, at most this part is expected to be noise.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Key of comparable values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub stack: String,
    pub link: String,
    pub benchmark: String,
    /// The measured quantity.
    pub metric: String,
    pub unit: String,
    /// Ranks.
    pub ranks: u32,
    pub size_bytes: Option<u64>,
    /// Options, in order of their names.
    pub options: Vec<(String, String)>,
}

/// Comparison of one point in two records.
#[derive(Debug)]
pub struct Compared {
    pub point: Point,
    /// Values of the first record.
    pub before: Spread,
    /// Values of the second record.
    pub after: Spread,
    /// The test; `None` when a record has less than two rounds of it, or a value of 0.
    pub change: Option<Change>,
    pub verdict: Verdict,
}

/// Verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Beyond noise and threshold, for the worse.
    Worse,
    /// Beyond noise and threshold, for the better.
    Better,
    /// Neither.
    Same,
    /// There are too few values.
    Untested,
}

/// All that two records say.
#[derive(Debug)]
pub struct Comparison {
    /// Points that both have, worst first.
    pub compared: Vec<Compared>,
    /// Points that only the first has.
    pub lost: Vec<Point>,
    /// Points that only the second has.
    pub gained: Vec<Point>,
}

/// Values by round, and which way is better.
type Values = BTreeMap<Point, (Better, BTreeMap<u32, f64>)>;

/// Compares two records. `threshold` is the least change that counts, as a part of the first value.
///
/// # Errors
/// When they describe a link differently, or share no point.
pub fn compare(before: &Record, after: &Record, threshold: f64) -> Result<Comparison> {
    record::links_agree(&[before, after])?;
    let (first, second) = (values(before), values(after));
    let only = |a: &Values, b: &Values| a.keys().filter(|point| !b.contains_key(*point)).cloned().collect();
    let (lost, gained) = (only(&first, &second), only(&second, &first));
    let both: Vec<_> = first.iter().filter_map(|(point, a)| Some((point, a, second.get(point)?))).collect();
    let (a, b) = (before.file.display(), after.file.display());
    ensure!(!both.is_empty(), "{a} and {b} have nothing in common: no stack, link, benchmark and size is in both");

    let list = |rounds: &BTreeMap<u32, f64>| rounds.values().copied().collect::<Vec<_>>();
    let changes: Vec<Option<Change>> = both.iter().map(|(_, a, b)| Change::between(&list(&a.1), &list(&b.1))).collect();
    let real = discoveries(&changes.iter().flatten().map(|change| change.p).collect::<Vec<_>>(), FALSE_DISCOVERIES);
    let mut real = real.into_iter();
    let mut compared = Vec::new();
    for ((point, a, b), change) in both.into_iter().zip(changes) {
        let (Some(before), Some(after)) = (Spread::of(&list(&a.1)), Spread::of(&list(&b.1))) else { continue };
        let is_real = change.is_some() && real.next().unwrap_or(false);
        let verdict = change.map_or(Verdict::Untested, |change| judge(change.ratio, a.0, is_real, threshold));
        compared.push(Compared { point: point.clone(), before, after, change, verdict });
    }
    let badness = |c: &Compared| {
        let towards_worse = if values_are_times(&first, &c.point) { 1.0 } else { -1.0 };
        let rank =
            [Verdict::Worse, Verdict::Better, Verdict::Same, Verdict::Untested].iter().position(|v| *v == c.verdict);
        (rank, -c.change.map_or(0.0, |change| change.ratio.ln() * towards_worse))
    };
    compared.sort_by(|a, b| {
        let (a, b) = (badness(a), badness(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    Ok(Comparison { compared, lost, gained })
}

impl Comparison {
    /// How many points have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.compared.iter().filter(|compared| compared.verdict == verdict).count()
    }
}

fn values_are_times(values: &Values, point: &Point) -> bool {
    values.get(point).is_some_and(|(better, _)| *better == Better::Lower)
}

fn judge(ratio: f64, better: Better, is_real: bool, threshold: f64) -> Verdict {
    if !is_real || ratio.ln().abs() < threshold.ln_1p() {
        return Verdict::Same;
    }
    let grew = ratio > 1.0;
    if grew == (better == Better::Higher) { Verdict::Better } else { Verdict::Worse }
}

/// Of several values for one round the last one counts, as everywhere.
fn values(record: &Record) -> Values {
    let mut values = Values::new();
    for sample in &record.samples {
        let entry = values.entry(Point::of(sample)).or_insert_with(|| (sample.better(), BTreeMap::new()));
        entry.1.insert(sample.round, sample.value);
    }
    values
}

impl Point {
    fn of(sample: &Sample) -> Point {
        Point {
            stack: sample.stack.clone(),
            link: sample.link.clone(),
            benchmark: sample.benchmark.clone(),
            metric: sample.metric.clone(),
            unit: sample.unit.clone(),
            ranks: sample.ranks,
            size_bytes: sample.size_bytes,
            options: sample.options_given().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        }
    }
}
