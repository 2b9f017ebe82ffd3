//! The benefit of networks to a program, which runs on several networks in turn, profiled (docs/guide/rpi.md).
//!
//! [`networks`] says which ones; [`measure`] runs the program on each, takes its times from its profiles
//! (`profile/`), and writes them to a record; [`asked`] is what a record knows of the question. [`evaluate`] makes of a
//! record the share of the best network's gain that each network has, and the bounds; [`published`] is what was found
//! elsewhere. `print` shows it all.

mod asked;
mod evaluate;
pub mod measure;
pub mod networks;
pub mod print;
pub mod published;

pub use asked::Asked;
pub use evaluate::Evaluation;
