//! Samples in order: panels of one benchmark on one link, points along an axis, a value a stack and round.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::axis::Axis;
use crate::output::text;
use crate::record::{Better, Cell, Record, Sample};

/// Values of one stack at one point: by record and round. Of values for the same round the last one counts, since a
/// resumed run measures a cell anew that was not complete.
pub type Rounds = BTreeMap<(usize, u32), Value>;

/// A value of one round.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub value: f64,
    /// 99th percentile of the iterations.
    pub p99: Option<f64>,
}

/// A value of an option; numbers are in order of their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting(pub String);

/// A place along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place(pub f64);

/// Samples that are compared side by side: one metric of one benchmark, with all of its conditions but the axis and the
/// stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Panel {
    /// Index into [`Model::benchmarks`].
    pub benchmark: usize,
    /// The measured quantity.
    pub metric: String,
    pub unit: String,
    /// Index into [`Model::links`]; `None` when links are the axis.
    pub link: Option<usize>,
    /// Ranks, unless they are the axis.
    pub ranks: Option<u32>,
    /// Message size, unless it is the axis.
    pub size_bytes: Option<u64>,
    /// All other options.
    pub options: BTreeMap<String, Setting>,
    /// Whether less is better.
    pub lower_is_better: bool,
}

/// Values by place along the axis and stack.
pub type Points = BTreeMap<Place, BTreeMap<usize, Rounds>>;

/// A benchmark as it is shown.
pub struct Benchmark {
    /// As in the record.
    pub name: String,
    pub title: String,
    pub axis: Axis,
}

/// All samples of some records.
pub struct Model {
    /// Names of stacks, in the order of the manifests.
    pub stacks: Vec<String>,
    /// Names of links, in the order of the manifests.
    pub links: Vec<String>,
    /// Benchmarks, in the order of the manifests.
    pub benchmarks: Vec<Benchmark>,
    /// The measured quantity.
    pub panels: BTreeMap<Panel, Points>,
    /// Links by their position along an axis of links, by benchmark.
    links_at: BTreeMap<(usize, Place), usize>,
}

impl Model {
    /// Puts the samples of records in order.
    ///
    /// # Errors
    /// When a sample has no place along its benchmark's axis.
    pub fn of(records: &[Record]) -> Result<Model> {
        let mut model = Model {
            stacks: vec![],
            links: vec![],
            benchmarks: vec![],
            panels: BTreeMap::new(),
            links_at: BTreeMap::new(),
        };
        for record in records {
            for stack in &record.manifest.stacks {
                position(&mut model.stacks, &stack.name);
            }
            for link in &record.manifest.links {
                position(&mut model.links, link);
            }
            for asked in &record.manifest.benchmarks {
                if model.benchmarks.iter().all(|known| known.name != asked.name) {
                    let title = asked.title.clone().unwrap_or_else(|| title(&asked.name));
                    model.benchmarks.push(Benchmark { name: asked.name.clone(), title, axis: Axis::of(asked) });
                }
            }
        }
        for (number, record) in records.iter().enumerate() {
            for sample in &record.samples {
                let added = model.add(number, record, sample);
                added.with_context(|| record.file.display().to_string())?;
            }
        }
        Ok(model)
    }

    fn add(&mut self, number: usize, record: &Record, sample: &Sample) -> Result<()> {
        let stack = position(&mut self.stacks, &sample.stack);
        let link = position(&mut self.links, &sample.link);
        let benchmark = self.benchmark(&sample.benchmark);
        let axis = &self.benchmarks[benchmark].axis;
        let place = axis.place(sample, record.links.iter().rfind(|link| link.name == sample.link))?;
        if axis.is_link() {
            let other = *self.links_at.entry((benchmark, Place(place))).or_insert(link);
            let (axis, one, other) = (axis.id(), &sample.link, (other != link).then(|| &self.links[other]));
            ensure!(other.is_none(), "links {} and {one} are at the same place along {axis}", other.map_or("", |o| o));
        }
        let options = sample.options_given().filter(|(name, _)| !axis.is_option(name));
        let panel = Panel {
            benchmark,
            metric: sample.metric.clone(),
            unit: sample.unit.clone(),
            link: (!axis.is_link()).then_some(link),
            ranks: (*axis != Axis::Ranks).then_some(sample.ranks),
            size_bytes: sample.size_bytes.filter(|_| *axis != Axis::Size),
            options: options.map(|(name, value)| (name.clone(), Setting::of(value))).collect(),
            lower_is_better: sample.better() == Better::Lower,
        };
        let points = self.panels.entry(panel).or_default();
        let rounds = points.entry(Place(place)).or_default().entry(stack).or_default();
        let p99 = sample.percentiles.as_ref().and_then(|percentiles| percentiles.get("p99")).copied();
        rounds.insert((number, sample.round), Value { value: sample.value, p99 });
        Ok(())
    }

    /// Positions of a cell's benchmark and link, and of its stack.
    pub fn find(&self, cell: &Cell) -> Option<((usize, usize), usize)> {
        let find = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let benchmark = self.benchmarks.iter().position(|benchmark| benchmark.name == cell.benchmark)?;
        Some(((benchmark, find(&self.links, &cell.link)?), find(&self.stacks, &cell.stack)?))
    }

    fn benchmark(&mut self, name: &str) -> usize {
        if let Some(found) = self.benchmarks.iter().position(|known| known.name == name) {
            return found;
        }
        self.benchmarks.push(Benchmark { name: name.to_string(), title: title(name), axis: Axis::Size });
        self.benchmarks.len() - 1
    }

    /// Names of the options, `ranks` and `size` among them, that tell panels of a benchmark apart.
    pub fn varying(&self, benchmark: usize) -> BTreeSet<String> {
        let mut values: BTreeMap<String, BTreeSet<Option<Setting>>> = BTreeMap::new();
        let panels: Vec<&Panel> = self.panels.keys().filter(|panel| panel.benchmark == benchmark).collect();
        let names: BTreeSet<String> = panels.iter().flat_map(|panel| panel.conditions().into_keys()).collect();
        for (panel, name) in panels.iter().flat_map(|panel| names.iter().map(move |name| (panel, name))) {
            values.entry(name.clone()).or_default().insert(panel.conditions().remove(name));
        }
        values.into_iter().filter(|(_, different)| different.len() > 1).map(|(name, _)| name).collect()
    }
}

impl Panel {
    /// Options with ranks and size among them.
    pub fn conditions(&self) -> BTreeMap<String, Setting> {
        let mut all = self.options.clone();
        let mut add = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                all.insert(name.to_string(), Setting(value.to_string()));
            }
        };
        add("ranks", self.ranks.map(u64::from));
        add("size_bytes", self.size_bytes);
        all
    }
}

impl Setting {
    fn of(value: &serde_json::Value) -> Setting {
        Setting(value.as_str().map_or_else(|| value.to_string(), str::to_string))
    }
}

impl Ord for Setting {
    fn cmp(&self, other: &Setting) -> Ordering {
        let number = |setting: &Setting| setting.0.parse::<f64>().ok();
        let by_number = number(self).zip(number(other)).map_or(Ordering::Equal, |(a, b)| a.total_cmp(&b));
        by_number.then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Setting {
    fn partial_cmp(&self, other: &Setting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Place {}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Position of a name, which is appended if it is new.
fn position(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_string());
        names.len() - 1
    })
}

/// `message_rate` as `Message rate`.
fn title(name: &str) -> String {
    text::capitalized(&name.replace(['_', '-'], " "))
}
