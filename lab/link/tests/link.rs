//! What holds of a link whatever its settings and their changes.

use fishplate_link::{Instant, Link, Loss, Offered, Rate, Settings, ethernet};
use proptest::prelude::*;

/// A frame that has been through a link.
#[derive(Clone, Copy, Debug)]
struct Passed {
    number: usize,
    wire_bytes: u32,
    offered: Instant,
    due: Instant,
}

#[derive(Clone, Debug)]
enum Step {
    Offer(u32),
    Wait(u64),
    Set(Settings),
}

#[derive(Default)]
struct Run {
    passed: Vec<Passed>,
    offered_bytes: u64,
    dropped: usize,
    lost: usize,
}

fn run(first: &Settings, steps: &[Step], seed: u64) -> (Run, Link<(usize, u32, Instant)>) {
    let mut link = Link::new(first.clone(), seed);
    let mut run = Run::default();
    let mut now = Instant(0);
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Offer(wire_bytes) => {
                run.offered_bytes += u64::from(*wire_bytes);
                match link.offer(now, (number, *wire_bytes, now), *wire_bytes) {
                    Offered::Taken => {}
                    Offered::Dropped(_) => run.dropped += 1,
                    Offered::Lost(_) => run.lost += 1,
                }
            }
            Step::Wait(ns) => {
                now = now.plus_ns(*ns);
                collect(&mut link, now, &mut run);
            }
            Step::Set(settings) => link.set(now, settings.clone()),
        }
    }
    while let Some(next) = link.next_delivery() {
        assert!(next >= now || link.frames() > 0);
        now = now.max(next);
        collect(&mut link, now, &mut run);
    }
    (run, link)
}

fn collect(link: &mut Link<(usize, u32, Instant)>, now: Instant, run: &mut Run) {
    while let Some(delivery) = link.deliver(now) {
        let (number, wire_bytes, offered) = delivery.token;
        assert!(delivery.due <= now, "delivered early");
        run.passed.push(Passed { number, wire_bytes, offered, due: delivery.due });
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    let rate = prop_oneof![Just(None), (1u64..200_000).prop_map(|mbit| Some(Rate::mbit(mbit)))];
    let loss = prop_oneof![
        3 => Just(Loss::NONE),
        1 => (0.0..0.3).prop_map(Loss::Independent),
        1 => Just(Loss::Bursts { good_to_bad: 0.05, bad_to_good: 0.3, loss_good: 0.0, loss_bad: 0.9 }),
    ];
    let queue = prop_oneof![Just(None), (2_000u64..200_000).prop_map(Some)];
    let path_mtu = prop_oneof![3 => Just(None), 1 => (68u32..9_000).prop_map(Some)];
    (rate, 0u64..3_000_000, prop_oneof![Just(0), 0u64..500_000], queue, loss, path_mtu).prop_map(
        |(rate, delay_ns, jitter_ns, queue_bytes, loss, path_mtu)| Settings {
            rate,
            delay_ns,
            jitter_ns,
            queue_bytes,
            loss,
            path_mtu,
            flip: 0.0,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (84u32..68_000).prop_map(Step::Offer),
        20 => Just(Step::Offer(1538)),
        15 => (0u64..2_000_000).prop_map(Step::Wait),
        5 => (0u64..500).prop_map(Step::Wait),
        2 => settings().prop_map(Step::Set),
    ];
    proptest::collection::vec(step, 1..200)
}

fn without_changes(steps: Vec<Step>) -> Vec<Step> {
    steps.into_iter().filter(|step| !matches!(step, Step::Set(_))).collect()
}

/// Panics if some window of time saw more than the rate and the frame that it began with.
fn check_rate(passed: &[Passed], rate: Rate) {
    for (first, begin) in passed.iter().enumerate() {
        let mut bytes = 0u64;
        for end in &passed[first + 1..] {
            bytes += u64::from(end.wire_bytes);
            // Times are rounded to whole nanoseconds.
            let room = rate.bytes_in(end.due.since_ns(begin.due) + 1) + 1;
            assert!(bytes <= room, "{bytes} bytes in room for {room}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn never_over_the_rate_nor_under_the_delay(settings in settings(), steps in steps(), seed: u64) {
        let (run, _) = run(&settings, &without_changes(steps), seed);
        for frame in &run.passed {
            let own = settings.rate.map_or(0, |rate| u64::from(frame.wire_bytes) * 8_000_000_000 / rate.bits_per_s());
            prop_assert!(frame.due.since_ns(frame.offered) >= own + settings.delay_ns);
        }
        if let Some(rate) = settings.rate {
            check_rate(&run.passed, rate);
        }
    }

    #[test]
    fn changes_keep_order_rate_and_delay(first in settings(), steps in steps(), seed: u64) {
        let (run, _) = run(&first, &steps, seed);
        prop_assert!(run.passed.is_sorted_by_key(|frame| frame.number));
        prop_assert!(run.passed.is_sorted_by_key(|frame| frame.due));
        let all: Vec<&Settings> =
            steps.iter().filter_map(|step| if let Step::Set(set) = step { Some(set) } else { None }).chain([&first]).collect();
        let least_delay = all.iter().map(|settings| settings.delay_ns).min().unwrap_or(0);
        for frame in &run.passed {
            prop_assert!(frame.due.since_ns(frame.offered) >= least_delay);
        }
        if all.iter().all(|settings| settings.rate.is_some())
            && let Some(fastest) = all.iter().filter_map(|settings| settings.rate).max()
        {
            check_rate(&run.passed, fastest);
        }
    }

    #[test]
    fn bytes_are_conserved(first in settings(), steps in steps(), seed: u64) {
        let (run, link) = run(&first, &steps, seed);
        let counters = link.counters();
        prop_assert_eq!(link.frames(), 0);
        prop_assert_eq!(link.waiting_bytes(), 0);
        prop_assert_eq!(counters.delivered_frames as usize, run.passed.len());
        prop_assert_eq!(counters.dropped_frames as usize, run.dropped);
        prop_assert_eq!(counters.lost_frames as usize, run.lost);
        let sum = counters.delivered_bytes + counters.dropped_bytes + counters.lost_bytes;
        prop_assert_eq!(sum, run.offered_bytes);
    }

    #[test]
    fn the_queue_keeps_its_limit(settings in settings(), steps in steps(), seed: u64) {
        let (_, link) = run(&settings, &without_changes(steps), seed);
        prop_assert!(link.counters().queue_peak_bytes <= settings.queue_limit_bytes());
    }

    #[test]
    fn the_same_seed_gives_the_same(settings in settings(), steps in steps(), seed: u64) {
        let times = |run: &Run| run.passed.iter().map(|frame| (frame.number, frame.due)).collect::<Vec<_>>();
        prop_assert_eq!(times(&run(&settings, &steps, seed).0), times(&run(&settings, &steps, seed).0));
    }
}

fn link(mbit: u64, delay_ns: u64) -> Link<u32> {
    Link::new(Settings { rate: Some(Rate::mbit(mbit)), delay_ns, ..Settings::default() }, 1)
}

fn due_times(link: &mut Link<u32>) -> Vec<u64> {
    std::iter::from_fn(|| link.deliver(Instant(u64::MAX))).map(|delivery| delivery.due.0).collect()
}

#[test]
fn a_full_link_gives_its_rate_exactly() {
    let mut link = link(1000, 1_000_000);
    for number in 0..100 {
        assert_eq!(link.offer(Instant(0), number, 1250), Offered::Taken);
    }
    let expected: Vec<u64> = (1..=100).map(|count| 1_000_000 + count * 10_000).collect();
    assert_eq!(due_times(&mut link), expected);
}

#[test]
fn a_change_of_rate_takes_the_frame_that_is_being_sent() {
    let mut link = link(1000, 0);
    for number in 0..2 {
        link.offer(Instant(0), number, 1250);
    }
    // Half of the first frame has left; the rest takes ten times as long.
    link.set(Instant(5_000), Settings { rate: Some(Rate::mbit(100)), ..Settings::default() });
    let due = due_times(&mut link);
    // What has left is rounded down to whole bytes.
    assert!((55_000..=55_080).contains(&due[0]), "{due:?}");
    assert!((due[1] - due[0]).abs_diff(100_000) <= 1, "{due:?}");
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let mut link = link(1000, 10_000_000);
    link.offer(Instant(0), 0, 1250);
    link.set(Instant(20_000), Settings { rate: Some(Rate::mbit(1000)), ..Settings::default() });
    link.offer(Instant(20_000), 1, 1250);
    assert_eq!(due_times(&mut link), [10_010_000, 10_020_000]);
}

#[test]
fn packets_without_room_in_the_queue_are_dropped() {
    let settings = Settings { rate: Some(Rate::mbit(1000)), queue_bytes: Some(3_000), ..Settings::default() };
    let mut link = Link::new(settings, 1);
    assert_eq!(link.offer(Instant(0), 0, 1500), Offered::Taken);
    assert_eq!(link.offer(Instant(0), 1, 1500), Offered::Taken);
    assert_eq!(link.offer(Instant(11_999), 2, 1500), Offered::Dropped(2));
    assert_eq!(link.offer(Instant(12_000), 3, 1500), Offered::Taken);
    assert_eq!((link.counters().dropped_bytes, link.counters().queue_peak_bytes), (1500, 3000));
}

#[test]
fn packets_beyond_the_path_mtu_get_lost() {
    let mut link = Link::new(Settings { path_mtu: Some(1300), ..Settings::default() }, 1);
    assert_eq!(link.offer(Instant(0), 0, ethernet::wire_bytes(1301)), Offered::Lost(0));
    assert_eq!(link.offer(Instant(0), 1, ethernet::wire_bytes(1300)), Offered::Taken);
    link.set(Instant(0), Settings::default());
    assert_eq!(link.offer(Instant(0), 2, ethernet::wire_bytes(9000)), Offered::Taken);
    due_times(&mut link);
    assert_eq!(link.counters().lost_frames, 1);
}

#[test]
fn bits_change_in_their_share_of_the_frames() {
    let flips = |flip| {
        let loss = Loss::Independent(0.1);
        let mut link = Link::new(Settings { flip, loss, ..Settings::default() }, 1);
        let mut flips = Vec::new();
        for number in 0..10_000u64 {
            link.offer(Instant(number), number, 1538);
            flips.extend(link.deliver(Instant(number)).map(|delivery| (delivery.token, delivery.flip)));
        }
        flips
    };
    let (none, some) = (flips(0.0), flips(0.25));
    assert!(none.iter().all(|(_, flip)| flip.is_none()));
    let changed: Vec<u64> = some.iter().filter_map(|(_, flip)| *flip).collect();
    assert!((2_100..2_400).contains(&changed.len()), "{}", changed.len());
    assert!(changed.windows(2).filter(|pair| pair[0] == pair[1]).count() < 3, "they choose different bits");
}

#[test]
fn loss_takes_time_on_the_link() {
    let loss = Loss::Independent(1.0);
    let mut link = Link::new(Settings { rate: Some(Rate::mbit(1000)), loss, ..Settings::default() }, 1);
    assert_eq!(link.offer(Instant(0), 0, 1250), Offered::Lost(0));
    link.set(Instant(0), Settings { rate: Some(Rate::mbit(1000)), ..Settings::default() });
    assert_eq!(link.offer(Instant(0), 1, 1250), Offered::Taken);
    let due = due_times(&mut link);
    assert!((20_000..=20_008).contains(&due[0]), "{due:?}");
    assert_eq!(link.counters().lost_frames, 1);
}
