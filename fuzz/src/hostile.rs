//! The attacker of the engine's own tests, and its victim with all that it must and must not do.

#[path = "../../transport/engine/tests/engines/hostile/attack.rs"]
pub mod attack;
#[path = "../../transport/engine/tests/engines/hostile/victim.rs"]
mod victim;
