//! Engines that are driven by hand, frame by frame. Whole runs over rails, in virtual time and with faults, are simulated
//! (`lab/sim`).

mod failures;
mod guests;
mod hostile;
mod in_memory;
mod injects;
mod late;
mod matching;
mod support;
mod whole_messages;
