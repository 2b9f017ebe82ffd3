//! The table of goodput is as it was. After a change that is meant: `make throughput` writes it anew, for review.

use fishplate_sim::throughput::table;

const KEPT: &str = include_str!("../snapshots/throughput.txt");

#[test]
fn goodput_is_as_it_was() {
    let now = table();
    let changed = KEPT.lines().zip(now.lines()).filter(|(kept, now)| kept != now);
    let changed: Vec<String> = changed.map(|(kept, now)| format!("- {kept}\n+ {now}")).collect();
    assert!(now == KEPT, "make throughput writes this anew:\n{}", changed.join("\n"));
}
