//! The inside of a network: links between switch blocks that are full, and several paths over one port.

use fishplate_sim::suite::{Benchmark, Options, run};
use fishplate_sim::testbed::{Description, Machine, shipped};

const KEPT: &str = include_str!("../snapshots/throughput.txt");
/// How far what is simulated may be from the bound, as a part of it.
const TOLERANCE: f64 = 0.1;
/// Steps of an alltoall with links that are unevenly full: ranks come to the next one at different times, and wait for
/// each other longer than for the fullest link of each step.
const UNEVEN: (&str, usize) = ("one-path 6", 3);

/// Simulated and bound, of each exchange: by stack and links.
fn slowdowns() -> Vec<(String, Vec<[f64; 2]>)> {
    let lines = KEPT.lines().skip_while(|line| !line.contains("ring_4")).skip(1);
    let cell = |cell: &str| {
        let (simulated, bound) = cell.split_once('/').unwrap();
        [simulated, bound].map(|number| number.parse().unwrap())
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[..2].join(" "), words[2..].iter().map(|word| cell(word)).collect())
    };
    lines.map(line).collect()
}

/// Of the table that another test compares with what is simulated now.
#[test]
fn exchanges_are_slowed_down_as_the_fullest_inner_link_is_full() {
    let all = slowdowns();
    assert_eq!(all.len(), 7);
    for (what, cells) in &all {
        assert_eq!(cells.len(), 4);
        for (place, [simulated, bound]) in cells.iter().enumerate() {
            let tolerance = if (what.as_str(), place) == UNEVEN { 2.0 * TOLERANCE } else { TOLERANCE };
            assert!((simulated / bound - 1.0).abs() < tolerance, "{what}: {simulated} for {bound}");
        }
    }
    // Displaced by a block. Six links for eight nodes: two are chosen twice; three paths to each node use all evenly.
    let bound = |what: &str| all.iter().find(|(known, _)| known == what).unwrap().1[1][1];
    assert_eq!(["one-path 1", "one-path 4", "one-path 8"].map(bound), [8.0, 2.0, 1.0]);
    assert_eq!(["one-path 6", "virtual 6"].map(bound), [2.0, 1.33]);
}

/// Where the port is the limit, more paths over it bring nothing.
#[test]
fn paths_over_one_port_share_its_rate() {
    let of = |stack: &str| {
        let machine = Machine::shipped("fat-tree", &[], (2, 1), 1).unwrap().with_stack(stack);
        run(&machine, Benchmark::Bandwidth, &Options { size: 4 << 20, ..Options::default() }).unwrap().value
    };
    let gain = of("virtual") / of("one-path");
    assert!((0.95..1.02).contains(&gain), "{gain}");
}

#[test]
fn what_cannot_be_a_fat_tree_or_a_path_is_refused() {
    let text = shipped("fat-tree").unwrap();
    let refused = |from: &str, to: &str| Description::parse(&text.replacen(from, to, 1)).unwrap_err();
    let blocks = text.find(", block_nodes").zip(text.find(", uplinks")).map(|(from, to)| &text[from..to]).unwrap();
    for (error, part) in [
        (
            refused("path_over = \"ndr\"", "path_over = \"ndr9\""),
            "rail lid1: path_over: no rail before it is called ndr9",
        ),
        (
            refused("name = \"lid2\"\npath_over = \"ndr\"", "name = \"lid2\"\npath_over = \"lid1\""),
            "rail lid2: path_over: lid1 has no port of its own",
        ),
        (refused(blocks, ""), "rail ndr: switch: uplinks: without block_nodes there are no blocks to link"),
        (refused("uplinks = { value = 6", "uplinks = { value = 1.5"), "uplinks: 1.5 is not a whole number from 1 on"),
        (
            refused(
                "block_nodes = { value = 8, assumed = \"nodes on one switch\", range = [4, 32] }",
                "block_nodes = { value = 0, source = \"none\" }",
            ),
            "block_nodes: 0 is not a whole number",
        ),
        (
            refused(
                "path_over = \"ndr\"",
                "path_over = \"ndr\"\nswitch = { cut_through = true, latency_ns = { value = 1, source = \"none\" } }",
            ),
            "rail lid1: path_over: it has the parts of ndr, and none of its own",
        ),
    ] {
        assert!(error.contains(part), "{error}");
    }
    let wan = shipped("wan-2008").unwrap();
    let tree =
        "block_nodes = { value = 8, source = \"none\" }, uplinks = { value = 4, source = \"none\" }, cut_through";
    let error =
        Description::parse(&wan.replacen("switch = { cut_through", &format!("switch = {{ {tree}"), 1)).unwrap_err();
    assert!(error.contains("uplinks: long-distance routers have no place in a fat tree here"), "{error}");
}
