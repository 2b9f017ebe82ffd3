//! Simulated experiments, from which rows take their values: benchmarks on testbeds with some parameters changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::suite::{Benchmark, Machine, Options, Outcome, run};
use crate::testbed::{Description, Placement, shipped};

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
        Experiments { changes: Vec::new(), seed, curves: RefCell::default() }
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
        let text = shipped(setting.testbed).ok_or_else(|| format!("there is no testbed {}", setting.testbed))?;
        let mut description = Description::parse(text)?;
        let ours = self.changes.iter().filter(|(testbed, ..)| testbed == setting.testbed);
        for (_, path, value) in ours {
            description = description.with(path, value)?;
        }
        for (path, value) in setting.with {
            description = description.with(path, value)?;
        }
        let Ranks { count, per_node, clusters } = setting.ranks;
        let placement = Placement::new(count, per_node, clusters);
        let testbed = Rc::new(description.testbed()?);
        Ok(Machine { testbed, stack: setting.stack.to_string(), placement, seed: self.seed })
    }

    /// One value.
    ///
    /// # Errors
    /// As [`run`].
    pub fn value(&self, setting: &Setting, benchmark: Benchmark, options: &Options) -> Result<f64, String> {
        Ok(self.outcome(setting, benchmark, options)?.value)
    }

    /// One value with all that belongs to it.
    ///
    /// # Errors
    /// As [`run`].
    pub fn outcome(&self, setting: &Setting, benchmark: Benchmark, options: &Options) -> Result<Outcome, String> {
        run(&self.machine(setting)?, benchmark, options)
    }

    /// A curve of a figure; kept for the report.
    ///
    /// # Errors
    /// As [`run`].
    pub fn curve(
        &self,
        figure: &'static str,
        setting: &Setting,
        benchmark: Benchmark,
        (sizes, options): (&[u64], &Options),
    ) -> Result<Vec<f64>, String> {
        let machine = self.machine(setting)?;
        let one = |size: &u64| Ok(run(&machine, benchmark, &Options { size: *size, ..options.clone() })?.value);
        let values: Vec<f64> = sizes.iter().map(one).collect::<Result<_, String>>()?;
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
        Ok(values)
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
