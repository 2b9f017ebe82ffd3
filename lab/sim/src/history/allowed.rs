//! Lower bounds of times from the rates of rails and processors.

use super::case::Case;
use super::machine::{byte_ns, frame_bytes, mbit, on_wire};
use super::pattern::Pattern;

/// How long a case takes at least, in nanoseconds, if a message without bytes takes `way_ns` from one process to the other.
///
/// Messages are cut so that all rails end together. A process sends and receives one byte after the other. A shaper lets a
/// frame pass at once and keeps its rate in the mean: there and back, both directions have twice as long for it.
pub(super) fn at_least_ns(case: &Case, way_ns: f64) -> f64 {
    let ways = case.pattern.ways() as f64;
    let ns_per_byte = |asked: &u32| 8e3 / mbit(*asked) * on_wire(case);
    let rate: f64 = case.rails.iter().map(|asked| 1.0 / ns_per_byte(asked)).sum();
    let bytes = (case.pattern.messages() * case.size) as f64;
    let at_once = frame_bytes(case) * case.rails.len() as f64;
    let by_rates = match case.pattern {
        Pattern::PingPong => bytes.max(2.0 * (bytes - at_once)) / rate,
        Pattern::Step => (bytes / rate - case.pattern.computes().as_ns()).max((bytes - at_once) / rate).max(0.0),
        _ => bytes / rate,
    };
    let by_processor = case.pattern.bytes_of_process(case.size) as f64 * byte_ns();
    by_rates.max(by_processor) + ways * way_ns
}
