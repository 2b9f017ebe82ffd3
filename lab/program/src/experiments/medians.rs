//! Medians over the rounds of what a record has.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, de::Error};

use crate::record::{Record, Sample};
use crate::simulation::sizes;
use crate::statistics::Spread;

/// Part of a frame of 1514 bytes that TCP carries: the rest is headers.
const PAYLOAD: f64 = 1448.0 / 1514.0;

/// Samples to choose from.
pub struct Values<'a> {
    record: &'a Record,
    /// Which were looked at.
    read: RefCell<BTreeSet<usize>>,
    spread: Cell<f64>,
}

/// Which value is meant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    pub stack: String,
    pub benchmark: String,
    pub link: String,
    /// Message size in bytes, such as `64K` in descriptions; absent: of what has none, as applications.
    #[serde(default, deserialize_with = "size")]
    pub size: Option<u64>,
    /// Absent: of a benchmark with a single one.
    pub metric: Option<String>,
    /// Name and value.
    pub option: Option<(String, u64)>,
    /// Intervals that end after this time and not after the other, in seconds since the program's begin.
    pub after_s: Option<f64>,
    pub until_s: Option<f64>,
}

fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let sizes = sizes::parse(&String::deserialize(from)?).map_err(D::Error::custom)?;
    Ok(sizes.first().copied())
}

impl At {
    fn fits(&self, sample: &Sample) -> bool {
        let time = || sample.options.get("time").and_then(|time| time.as_f64()).unwrap_or(f64::NAN);
        (&sample.stack, &sample.benchmark, &sample.link) == (&self.stack, &self.benchmark, &self.link)
            && self.size.map_or(sample.size_bytes.is_none(), |size| size == sample.size_bytes.unwrap_or(0))
            && self.metric.as_ref().is_none_or(|metric| *metric == sample.metric)
            && self.option.as_ref().is_none_or(|(name, value)| sample.options.get(name).is_some_and(|own| own == value))
            && self.after_s.is_none_or(|after_s| time() > after_s)
            && self.until_s.is_none_or(|until_s| time() <= until_s)
    }

    /// That there is none.
    fn missing(&self) -> String {
        let At { stack, benchmark, link, size, metric, .. } = self;
        match size {
            Some(size) => format!("{stack} has no value of {benchmark} on {link} at {size} bytes"),
            None => format!("{stack} has no {} of {benchmark} on {link}", metric.as_deref().unwrap_or("value")),
        }
    }
}

impl<'a> Values<'a> {
    /// The medians of a record.
    pub fn of(record: &'a Record) -> Values<'a> {
        Values { record, read: RefCell::default(), spread: Cell::default() }
    }

    /// Positions of the samples that were looked at.
    pub fn read(&self) -> BTreeSet<usize> {
        self.read.borrow().clone()
    }

    /// By how much rounds differ, as a part of their median: most of all values that were asked for.
    pub fn spread(&self) -> f64 {
        self.spread.get()
    }

    /// The median over the rounds; the error names the missing measurement. Samples of one round that differ in an option
    /// count together.
    pub fn median(&self, at: &At) -> Result<f64, String> {
        let chosen = self.record.samples.iter().enumerate().filter(|(_, sample)| at.fits(sample));
        // Of several of one round with the same options the last counts.
        let mut rounds: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
        for (position, sample) in chosen {
            self.read.borrow_mut().insert(position);
            rounds.entry(sample.round).or_default().insert(format!("{:?}", sample.options), sample.value);
        }
        let mean = |values: &BTreeMap<String, f64>| values.values().sum::<f64>() / values.len() as f64;
        let values: Vec<f64> = rounds.values().map(mean).filter(|value| *value > 0.0).collect();
        let Spread { median, least, greatest } = Spread::of(&values).ok_or_else(|| at.missing())?;
        self.spread.set(self.spread.get().max((greatest - least) / median));
        Ok(median)
    }

    /// Rate of TCP over each rail of a link as configured, in MB/s, the first rail first. Not the measured rate: other
    /// load on the machine in that half second would change the verdict.
    pub fn rails_mb_per_s(&self, link: &str) -> Result<Vec<f64>, String> {
        let found = self.record.links.iter().rfind(|known| known.name == link);
        let mb_per_s = |rate_mbit: f64| rate_mbit / 8.0 * PAYLOAD;
        let rails = found.map(|link| link.rails.iter().map(|rail| rail.rate_mbit.map(mb_per_s)).collect());
        rails.flatten().ok_or_else(|| format!("link {link} is not in the record"))
    }
}
