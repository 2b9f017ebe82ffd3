//! A sender that is too fast for a long link: what the queue drops, what gets lost on the way, when the rest arrives.
//!
//! `cargo run -p fishplate-link --example long_haul` prints
//!
//! ```text
//! offered    10000 packets, the last at 100.0 ms
//! dropped    1062, the first at 43.3 ms
//! lost       8
//! delivered  8930, the last at 120.0 ms
//! goodput    974 Mbit/s
//! ```

use fishplate_link::{Instant, Link, Loss, Offered, Rate, Settings, ethernet};

/// Packets of 1500 bytes, one each 10 us: 1200 Mbit/s.
const PACKETS: u64 = 10_000;
const INTERVAL_NS: u64 = 10_000;

fn main() {
    // 1000 Mbit/s and 10 ms, a queue of half a round trip, and one packet in a thousand lost.
    let rate = Rate::mbit(1000);
    let delay_ns = 10_000_000;
    let settings = Settings {
        rate: Some(rate),
        delay_ns,
        queue_bytes: Some(rate.bytes_in(delay_ns)),
        loss: Loss::Independent(0.001),
        ..Settings::default()
    };
    let mut link = Link::new(settings, 1);
    let frame_bytes = ethernet::wire_bytes(1500);

    let mut first_drop = None;
    for packet in 0..PACKETS {
        let now = Instant(packet * INTERVAL_NS);
        if let Offered::Dropped(_) = link.offer(now, packet, frame_bytes) {
            first_drop.get_or_insert(now);
        }
    }
    let mut last = Instant::default();
    while let Some(due) = link.next_delivery() {
        last = link.deliver(due).map_or(last, |delivery| delivery.due);
    }

    let ms = |instant: Instant| instant.0 as f64 / 1e6;
    let counters = link.counters();
    println!("offered    {PACKETS} packets, the last at {:.1} ms", ms(Instant((PACKETS - 1) * INTERVAL_NS)));
    println!("dropped    {}, the first at {:.1} ms", counters.dropped_frames, first_drop.map_or(0.0, ms));
    println!("lost       {}", counters.lost_frames);
    println!("delivered  {}, the last at {:.1} ms", counters.delivered_frames, ms(last));
    let flown_s = (last.0 - delay_ns) as f64 / 1e9;
    println!("goodput    {:.0} Mbit/s", counters.delivered_frames as f64 * 1500.0 * 8.0 / flown_s / 1e6);
}
