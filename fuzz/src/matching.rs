//! What a user asks of an engine that has messages to match, against plain lists: those of the engine's own tests.

#[path = "../../transport/engine/tests/engines/matching/run.rs"]
mod commands;
#[path = "../../transport/engine/tests/engines/matching/lists.rs"]
mod lists;

use crate::support::rng::Rng;

/// How inputs end.
pub const ENDS: &[&str] = &["few waited", "many waited"];

/// More than what an engine looks at one by one.
const MANY: usize = 16;

/// One endpoint's life, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    let most_waited = commands::run(Rng::over(bytes));
    if most_waited > MANY { "many waited" } else { "few waited" }
}
