//! Curves over time, as the page's script draws them: sums of all ranks in full, ranks and interfaces in as many
//! columns as there is room for.

use fishplate_profile::series_file::rank_column;
use maud::{Markup, html};
use serde::Serialize;

use super::arrays::{Arrays, Place};
use crate::output::text::time;
use crate::profile::schema::{Column, Profile, Series, World};

/// Most columns of a rank: more than a screen has.
const RANK_COLUMNS: usize = 2048;
/// Most bytes for all ranks, for all interfaces, and steps of the sums: so that an hour fits into a page of 5 MB even
/// where nothing repeats.
const RANK_BYTES: usize = 1_000_000;
const RAIL_BYTES: usize = 500_000;
const SUM_COLUMNS: usize = 400_000;

/// Data for the page's script.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// Length of all, in seconds.
    seconds: f64,
    /// Names of the ranks.
    ranks: Vec<String>,
    /// Over all ranks.
    sums: Vec<Layer>,
    /// By rank, rank by rank.
    layers: Vec<Layer>,
    /// By interface.
    rails: Vec<Rail>,
}

/// Numbers over time.
#[derive(Debug, Serialize)]
struct Layer {
    name: String,
    /// Seconds for which a number stands.
    bin: f64,
    data: Place,
}

/// An interface of a host.
#[derive(Debug, Serialize)]
struct Rail {
    host: String,
    #[serde(flatten)]
    layer: Layer,
}

/// The steps of a program.
struct Range {
    first: u64,
    steps: usize,
    step_s: f64,
}

/// A column of a series, added to the columns of a picture.
struct Bins<'a> {
    range: &'a Range,
    steps_each: usize,
    sums: Vec<f64>,
}

/// Puts the numbers of a program into `arrays`; `parts`: in how many the room is divided. Nothing where nothing was
/// recorded over time.
pub fn of(profile: &Profile, world: &World, arrays: &mut Arrays, parts: usize) -> Option<Timeline> {
    let range = Range::of(world)?;
    let names = columns(world);
    let layers_count = names.len();
    let room = RANK_BYTES / parts / (2 * layers_count * world.ranks.len());
    let most = RANK_COLUMNS.min(room.max(64));
    let series = || world.ranks.iter().map(|rank| rank.series.as_ref());
    let mut sums = Vec::new();
    for name in rank_column::NAMES {
        let all = std::iter::once(series().flatten().collect());
        sums.push(range.layer(arrays, name, SUM_COLUMNS / parts, all));
    }
    let of_ranks = || series().map(|series| series.into_iter().collect());
    let layers = names.iter().map(|name| range.layer(arrays, name, most, of_ranks())).collect();
    Some(Timeline {
        seconds: range.steps as f64 * range.step_s,
        ranks: world.ranks.iter().map(|rank| format!("rank {} on {}", rank.rank, rank.host)).collect(),
        sums,
        layers,
        rails: rails(profile, &range, arrays, parts),
    })
}

/// All columns that a rank has, those that every rank has first.
fn columns(world: &World) -> Vec<String> {
    let mut names: Vec<String> = rank_column::NAMES.map(String::from).to_vec();
    for column in world.ranks.iter().filter_map(|rank| rank.series.as_ref()).flat_map(|series| &series.columns) {
        if !names.contains(&column.name) {
            names.push(column.name.clone());
        }
    }
    names
}

fn rails(profile: &Profile, range: &Range, arrays: &mut Arrays, parts: usize) -> Vec<Rail> {
    let used = |data: &[u32]| data.iter().any(|bytes| *bytes > 0);
    let all = profile.hosts.iter().flat_map(|host| host.columns.iter().map(move |column| (host, column)));
    let all: Vec<_> = all.filter(|(_, column)| used(&column.data)).collect();
    let most = (RAIL_BYTES / parts / (2 * all.len().max(1))).max(64);
    let rail = |(host, column): (&Series, &Column)| {
        let layer = range.layer(arrays, &column.name, most, std::iter::once(vec![host]));
        Rail { host: host.host.clone(), layer }
    };
    all.into_iter().map(rail).collect()
}

impl Range {
    fn of(world: &World) -> Option<Range> {
        let all = || world.ranks.iter().filter_map(|rank| rank.series.as_ref()).filter(|series| series.steps() > 0);
        let first = all().map(|series| series.first_step).min()?;
        let last = all().map(|series| series.first_step + series.steps() as u64).max()?;
        let step_s = all().next()?.step_ns as f64 / 1e9;
        // With clocks that differ by days the chart would be unreadable.
        let most = 4 * all().map(Series::steps).max()?;
        Some(Range { first, steps: ((last - first) as usize).min(most), step_s })
    }

    /// The columns called `name` in rows of at most `most` numbers; a row is the sum of the series of an item of `rows`.
    fn layer<'a>(
        &self,
        arrays: &mut Arrays,
        name: &str,
        most: usize,
        rows: impl Iterator<Item = Vec<&'a Series>>,
    ) -> Layer {
        let steps_each = self.steps.div_ceil(most).max(1);
        let is_in_mpi = name == rank_column::NAMES[rank_column::IN_MPI_US];
        let row = |together: Vec<&Series>| {
            let mut bins = Bins::new(self, steps_each);
            together.iter().for_each(|series| bins.add(series, name));
            let whole = if is_in_mpi { 1e6 * together.len().max(1) as f64 } else { 1.0 };
            bins.per_second().map(move |value| value / whole)
        };
        let rows = rows.flat_map(row);
        let data = if is_in_mpi { arrays.shares(rows) } else { arrays.amounts(rows) };
        Layer { name: name.into(), bin: steps_each as f64 * self.step_s, data }
    }
}

impl Bins<'_> {
    fn new(range: &Range, steps_each: usize) -> Bins<'_> {
        Bins { range, steps_each, sums: vec![0.0; range.steps.div_ceil(steps_each)] }
    }

    fn add(&mut self, series: &Series, name: &str) {
        let Some(column) = series.columns.iter().find(|column| column.name == name) else { return };
        let data = &column.data;
        // Position of a step of the range in the data; the sampling of a host may have lasted longer.
        let at = |step: usize| {
            let place = (self.range.first + step as u64).saturating_sub(series.first_step);
            (place as usize).min(data.len())
        };
        for (bin, sum) in self.sums.iter_mut().enumerate() {
            let steps = bin * self.steps_each..((bin + 1) * self.steps_each).min(self.range.steps);
            *sum += data[at(steps.start)..at(steps.end)].iter().map(|value| u64::from(*value)).sum::<u64>() as f64;
        }
    }

    fn per_second(self) -> impl Iterator<Item = f64> {
        let steps = self.range.steps;
        let (each, step_s) = (self.steps_each, self.range.step_s);
        let length = move |bin: usize| (steps - bin * each).min(each) as f64 * step_s;
        self.sums.into_iter().enumerate().map(move |(bin, sum)| sum / length(bin))
    }
}

/// The element in which the script draws it.
pub fn markup(timeline: &Timeline, number: usize) -> Markup {
    let step = timeline.sums.first().map_or(String::new(), |sum| time(sum.bin * 1e9));
    html! {
        section .timeline data-world=(number) {
            h2 { "Over time" }
            p .note {
                "Drag over a picture to zoom in, double-click to see all again; or use the wheel with Ctrl held. Sums have steps of " (step) "; intervals narrower than a pixel are shown by their mean, and pale by their least and greatest value."
            }
            noscript { p .note { "These pictures are drawn by a script." } }
            div .controls {
                button type="button" data-zoom="in" { "zoom in" }
                button type="button" data-zoom="out" { "zoom out" }
                button type="button" data-zoom="all" { "all" }
                output {}
            }
            figure { figcaption { h3 { "Ranks in MPI" } p { "Share of the time of all ranks" } } canvas data-panel="share" height="110" {} }
            figure { figcaption { h3 { "Bytes of messages" } p { "Bytes per second of all ranks, sent and received, in messages and collective operations" } } canvas data-panel="bytes" height="190" {} }
            figure .rails {
                figcaption { h3 { "Network interfaces" } p { "Bytes per second, headers included" } label { "host " select data-select="host" {} } }
                canvas data-panel="rails" height="210" {}
            }
            figure {
                figcaption { h3 { "Rank by rank" } label { "show " select data-select="layer" {} } span .scale { "0 " i {} " " output {} } }
                canvas data-panel="heat" {}
            }
        }
    }
}
