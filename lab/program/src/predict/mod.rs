//! Predictions (docs/guide/predict.md): how long a recorded program takes on modelled networks, and what of it helps.
//!
//! - [`source`]: the program;
//! - [`networks`]: the networks;
//! - [`evaluate`]: the trace replayed on them, and on changed ones;
//! - [`results`]: kept in a folder, and shared by processes;
//! - [`prediction`]: what comes out;
//! - [`limits`]: what the run time was spent on;
//! - [`worth`]: what a network is worth to the program;
//! - [`print`](mod@print): output to the terminal; [`page`]: output as a page.

pub mod evaluate;
pub mod limits;
pub mod networks;
pub mod page;
pub mod prediction;
pub mod print;
pub mod results;
pub mod source;
pub mod worth;
