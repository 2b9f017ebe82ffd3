//! Applications that others wrote (docs/reference/apps.md), as data: what they are ([`description`]), where they are
//! ([`place`]), what their inputs are made of ([`inputs`], [`formula`]), and how a stack runs one ([`run`]). `fishplate
//! setup` gets them, `fishplate bench` measures them.

mod description;
mod formula;
mod inputs;
mod place;
mod run;

pub use description::{Application, all, find};
pub use run::Choice;
