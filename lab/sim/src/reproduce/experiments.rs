//! Simulated experiments, from which rows take their values: benchmarks on testbeds with some parameters changed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::suite::{Benchmark, Options, Outcome, run};
use crate::testbed::{Machine, Placement};

/// Values of a row, by name.
pub type Values = BTreeMap<String, f64>;

/// A curve of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Which figure.
    pub figure: &'static str,
    /// Testbed.
    pub testbed: String,
    /// Stack.
    pub stack: String,
    /// Changes of the testbed, for people; empty: none.
    pub setting: String,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Ranks.
    pub ranks: u32,
    /// Sizes and values.
    pub points: Vec<(u64, f64)>,
}

/// Testbeds, as they are or changed everywhere in the same way.
pub struct Experiments {
    /// Path and value, for every testbed called so.
    changes: Vec<(String, String, String)>,
    seed: u64,
    curves: RefCell<Vec<Curve>>,
    /// The first error since [`Experiments::take_failure`].
    failure: RefCell<Option<String>>,
}

/// Some ranks of a testbed.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    /// How many.
    pub count: u32,
    /// On each node.
    pub per_node: u32,
    /// Over how many clusters.
    pub clusters: usize,
}

impl Ranks {
    /// Two, on two nodes of one cluster.
    pub const PAIR: Ranks = Ranks { count: 2, per_node: 1, clusters: 1 };
    /// Two, in two clusters.
    pub const APART: Ranks = Ranks { count: 2, per_node: 1, clusters: 2 };

    /// This number of hosts of one cluster.
    pub fn of(count: u32, per_node: u32) -> Ranks {
        Ranks { count, per_node, clusters: 1 }
    }
}

/// A testbed with a stack, some parameters changed.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The testbed's name.
    pub testbed: &'a str,
    /// The stack's name.
    pub stack: &'a str,
    /// Paths and values.
    pub with: &'a [(&'a str, &'a str)],
    /// Ranks.
    pub ranks: Ranks,
}

impl Experiments {
    /// The testbeds as they come.
    pub fn new(seed: u64) -> Experiments {
        Experiments { changes: Vec::new(), seed, curves: RefCell::default(), failure: RefCell::default() }
    }

    /// One parameter of one testbed is another.
    pub fn changed(testbed: &str, path: &str, value: f64, seed: u64) -> Experiments {
        let change = (testbed.to_string(), path.to_string(), value.to_string());
        Experiments { changes: vec![change], ..Experiments::new(seed) }
    }

    /// The machine of a setting.
    ///
    /// # Errors
    /// When there is no such testbed, stack or parameter.
    pub fn machine(&self, setting: &Setting) -> Result<Machine, String> {
        let ours = self.changes.iter().filter(|(testbed, ..)| testbed == setting.testbed);
        let changes = ours.map(|(_, path, value)| (path.as_str(), value.as_str())).chain(setting.with.iter().copied());
        let Ranks { count, per_node, clusters } = setting.ranks;
        let changes: Vec<(&str, &str)> = changes.collect();
        let machine = Machine::shipped(setting.testbed, &changes, (count, per_node), self.seed)?;
        Ok(Machine { placement: Placement::new(count, per_node, clusters), ..machine.with_stack(setting.stack) })
    }

    /// What was found. An error is kept, and a stand-in taken: rows are arithmetic on many simulated values, and one that
    /// could not be simulated makes the row fail as a whole.
    pub(super) fn or_fail<T: Default>(&self, found: Result<T, String>) -> T {
        found.unwrap_or_else(|error| {
            self.failure.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    /// Why something could not be simulated since this was asked last, if anything.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.failure.take()
    }

    /// One value.
    pub(super) fn value(&self, setting: &Setting, benchmark: Benchmark, options: &Options) -> f64 {
        self.outcome(setting, benchmark, options).value
    }

    /// One value with all that belongs to it.
    pub(super) fn outcome(&self, setting: &Setting, benchmark: Benchmark, options: &Options) -> Outcome {
        self.or_fail(self.machine(setting).and_then(|machine| run(&machine, benchmark, options)))
    }

    /// A curve of a figure with the usual options; kept for the report.
    pub(super) fn curve(
        &self,
        figure: &'static str,
        setting: &Setting,
        benchmark: Benchmark,
        sizes: &[u64],
    ) -> Vec<f64> {
        self.curve_with(figure, setting, benchmark, (sizes, &Options::default()))
    }

    /// A curve of a figure; kept for the report.
    pub(super) fn curve_with(
        &self,
        figure: &'static str,
        setting: &Setting,
        benchmark: Benchmark,
        (sizes, options): (&[u64], &Options),
    ) -> Vec<f64> {
        let machine = self.machine(setting);
        let one = |size: &u64| {
            let machine = machine.as_ref().map_err(String::clone)?;
            run(machine, benchmark, &Options { size: *size, ..options.clone() })
        };
        let values: Vec<f64> = sizes.iter().map(|size| self.or_fail(one(size)).value).collect();
        let told: Vec<String> = setting.with.iter().map(|(path, value)| format!("{path} = {value}")).collect();
        self.curves.borrow_mut().push(Curve {
            figure,
            testbed: setting.testbed.to_string(),
            stack: setting.stack.to_string(),
            setting: told.join(", "),
            benchmark,
            ranks: setting.ranks.count,
            points: sizes.iter().copied().zip(values.iter().copied()).collect(),
        });
        values
    }

    /// The curves so far.
    pub fn take_curves(&self) -> Vec<Curve> {
        self.curves.take()
    }
}

/// Values with names.
pub fn values<const N: usize>(named: [(&str, f64); N]) -> Values {
    named.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
