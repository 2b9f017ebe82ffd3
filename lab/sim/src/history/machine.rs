//! The machine: two hosts whose rails are shaped or emulated as `fishplate testbed` and `fishplate lab` do it, with what
//! bytes cost their processes.

use super::case::Case;
use crate::testbed::{Description, Emulation, Parameter, Testbed};

/// Stands for no limit, in Mbit/s: far more than processes feed.
const UNLIMITED_MBIT: f64 = 400_000.0;
/// Bucket of a shaper up to this rate in Mbit/s: one packet (`--burst packet`), in bytes. Faster shapers keep the usual
/// bucket, as late timers would cost them too much.
const BURST: f64 = 2048.0;
const MAX_PACKET_BURST_MBIT: f64 = 1000.0;
/// Bytes of a packet on the wire beyond its frame, as an emulator counts them: check sequence, preamble, gap.
const GAP_BYTES: f64 = 24.0;
/// Bytes of a packet: payload, and all that shapers count.
pub(super) const PACKET: (f64, f64) = (1448.0, 1448.0 + 66.0);
/// Duration of the emulator's longest frame, in seconds.
const MAX_FRAME_S: f64 = 500e-6;
/// A byte that a process sends, and one that it receives, in picoseconds: one rail without a limit carries 4 to 5 GB/s
/// between two processes with a processor each.
const BYTE_PS: f64 = 200.0;
/// Interruptions of a process, shorter and rarer than where the machine is shared: how long a pattern takes should not
/// depend on their number. In nanoseconds: how far apart, how long.
const NOISE_NS: (f64, f64) = (4_000_000.0, 15_000.0);

/// The rate of a rail.
pub(super) fn mbit(asked: u32) -> f64 {
    if asked == 0 { UNLIMITED_MBIT } else { f64::from(asked) }
}

/// The machine of a case.
///
/// # Errors
/// When the testbed that it is made of is not as it was.
pub(super) fn testbed(case: &Case) -> Result<Testbed, String> {
    let rates: Vec<f64> = case.rails.iter().copied().map(mbit).collect();
    let mut testbed = Description::shipped("emulated")?.testbed()?.with_rates(&rates)?;
    for (rail, mbit) in testbed.rail.iter_mut().zip(rates) {
        let emulated = rail.emulated.as_mut().ok_or("the rail is not emulated")?;
        if mbit <= MAX_PACKET_BURST_MBIT {
            emulated.bucket_us.value = BURST * 8.0 / mbit;
        }
        if mbit >= UNLIMITED_MBIT {
            emulated.timer_us.value = 0.0;
        }
        if case.delay_us > 0 {
            emulated.by = Emulation::Emulator;
            emulated.delay_us.value = f64::from(case.delay_us);
            emulated.gap_bytes.value = GAP_BYTES;
            emulated.frame_bytes.value = emulated.frame_bytes.value.min(mbit * 1e6 / 8.0 * MAX_FRAME_S);
        }
    }
    for transport in testbed.transport.values_mut() {
        // Here the processes have this cost.
        transport.byte_ps = None;
    }
    let assumed = |value| Some(Parameter { value, source: None, assumed: None, range: None });
    for stack in testbed.stack.values_mut() {
        stack.send_byte_ps = assumed(BYTE_PS);
        stack.receive_byte_ps = assumed(BYTE_PS);
        stack.interruption_every_ns = assumed(NOISE_NS.0);
        stack.interruption_ns = assumed(NOISE_NS.1);
    }
    Ok(testbed)
}

/// Processor time of a byte for a process that sends or receives it, in nanoseconds.
pub(super) fn byte_ns() -> f64 {
    BYTE_PS / 1e3
}

/// Bytes that a shaper lets pass as one frame ahead of its rate; 0 for an emulator.
pub(super) fn frame_bytes(case: &Case) -> f64 {
    if case.delay_us > 0 { 0.0 } else { 65160.0 }
}

/// Bytes on the wire for a byte of payload.
pub(super) fn on_wire(case: &Case) -> f64 {
    let gap = if case.delay_us > 0 { GAP_BYTES } else { 0.0 };
    (PACKET.1 + gap) / PACKET.0
}
