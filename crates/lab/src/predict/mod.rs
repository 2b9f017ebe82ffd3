//! Predictions (docs/predict.md): how long a recorded program takes on modelled networks, and what of it helps.
//!
//! - [`networks`]: what is asked of;
//! - [`evaluate`]: the trace replayed on them, and on changed ones;
//! - [`print`](mod@print): what is told.

pub mod evaluate;
pub mod networks;
pub mod print;
