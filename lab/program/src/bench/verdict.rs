//! Which claims of a plan hold, by the samples of a record.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::benchmark::Benchmark;
use super::claim::{BOUND, Claim, HISTORY, Limit, SUM};
use super::failover::{self, Judged, Limits};
use super::history;
use super::plan::Plan;
use crate::output::text;
use crate::record::{self, Better, Record, Sample};
use crate::statistics::Spread;
use crate::testbed::Burst;

/// Of each 1538 bytes on the wire TCP can use 1448.
const PAYLOAD_SHARE: f64 = 1448.0 / 1538.0;
/// Messages of a window of `bandwidth` unless told.
const WINDOW: f64 = 64.0;

/// Whether something that a plan claims holds: a line for people.
pub enum Verdict {
    /// A ratio keeps to its limit.
    Ratio(RatioVerdict),
    /// A rail that failed was not missed for longer than it may be.
    Failover(Judged),
}

/// One ratio of a claim: the first stack of a benchmark to a peer, or its worst history to its best one, at one size.
#[derive(Debug, PartialEq)]
pub struct RatioVerdict {
    pub benchmark: String,
    pub link: String,
    /// Message size in bytes; 0 where there is none.
    pub size: u64,
    /// Whose ratio it is.
    pub stack: String,
    pub peer: String,
    /// Unit of the values; empty where nothing was measured.
    pub unit: String,
    /// The values; `None` where one of the two is missing.
    pub finding: Option<Finding>,
    limit: Option<Limit>,
}

/// Medians, and the ratios of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// Median of the stack.
    pub ours: f64,
    /// Median of the peer.
    pub theirs: f64,
    /// Ratios of the rounds.
    pub ratio: Spread,
}

/// Values of all rounds of a stack at a size.
type Rounds = BTreeMap<u32, f64>;

/// Judges all claims of a plan.
pub fn of(plan: &Plan, record: &Record) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for benchmark in &plan.benchmarks {
        for link in plan.link_names().iter().filter(|link| benchmark.is_on(link)) {
            if let Some(claim) = &benchmark.holds {
                let panel = Panel::of(benchmark, claim, link, record);
                let judged = panel.sizes().into_iter().flat_map(|size| panel.judge(size));
                verdicts.extend(judged.map(Verdict::Ratio));
            }
            if let Some(limits) = &benchmark.failover {
                let stacks = if benchmark.stacks.is_empty() { &plan.stacks } else { &benchmark.stacks };
                let judged =
                    stacks.iter().flat_map(|stack| failovers(plan, benchmark, limits, link, stack, &record.samples));
                verdicts.extend(judged.map(Verdict::Failover));
            }
        }
    }
    verdicts
}

/// How long a stack missed the rail on a link.
fn failovers(
    plan: &Plan,
    benchmark: &Benchmark,
    limits: &Limits,
    link: &str,
    stack: &str,
    samples: &[Sample],
) -> Vec<Judged> {
    let here =
        |sample: &&Sample| (&*sample.benchmark, &*sample.link, &*sample.stack) == (&*benchmark.name, link, stack);
    let judge = |(metric, limit_ms): (&str, f64)| {
        let samples = samples.iter().filter(here).filter(|sample| sample.metric == metric);
        // Of several of one round the last counts.
        let rounds: Rounds = samples.map(|sample| (sample.round, sample.value)).collect();
        let whole = rounds.len() == plan.rounds as usize;
        let found = Spread::of(&rounds.into_values().collect::<Vec<_>>()).filter(|_| whole);
        let place = format!("{}, {link}, {}", benchmark.name, metric.replace('_', " "));
        Judged { place, stack: stack.to_string(), found, rounds: plan.rounds, limit_ms }
    };
    failover::METRICS.into_iter().zip(limits.values()).map(judge).collect()
}

/// What a record has of a benchmark with a claim on one link.
struct Panel<'a> {
    benchmark: &'a Benchmark,
    claim: &'a Claim,
    link: &'a str,
    measured: Option<&'a record::Link>,
    lower_is_better: bool,
    unit: String,
    /// By stack, or stack after a history, and size.
    values: BTreeMap<(String, u64), Rounds>,
}

impl<'a> Panel<'a> {
    fn of(benchmark: &'a Benchmark, claim: &'a Claim, link: &'a str, record: &'a Record) -> Panel<'a> {
        let measured = record.links.iter().rfind(|known| known.name == link);
        let (mut lower_is_better, mut unit, mut values) = (false, String::new(), BTreeMap::<_, Rounds>::new());
        let here = record.samples.iter().filter(|sample| sample.benchmark == benchmark.name && sample.link == link);
        for sample in here {
            lower_is_better = sample.better() == Better::Lower;
            unit.clone_from(&sample.unit);
            // Of several of one round the last counts.
            let history = sample.options.get(HISTORY).and_then(Value::as_str);
            let stack = history.map_or(sample.stack.clone(), |history| history::after(&sample.stack, history));
            values.entry((stack, sample.size_bytes.unwrap_or(0))).or_default().insert(sample.round, sample.value);
        }
        Panel { benchmark, claim, link, measured, lower_is_better, unit, values }
    }

    /// Sizes that any stack was measured with; one that stands for all where nothing was measured.
    fn sizes(&self) -> BTreeSet<u64> {
        let sizes: BTreeSet<u64> = self.values.keys().map(|(_, size)| *size).collect();
        if sizes.is_empty() { BTreeSet::from([0]) } else { sizes }
    }

    fn judge(&self, size: u64) -> Vec<RatioVerdict> {
        if self.benchmark.histories {
            return self.judge_histories(size);
        }
        let held = match self.claim.best_of {
            true => self.best(size).into_iter().collect(),
            false => self.claim.against.iter().collect::<Vec<_>>(),
        };
        let limit = self.claim.limit();
        let held = held.into_iter().map(|peer| self.verdict(size, peer, limit));
        held.chain(self.claim.told.iter().map(|peer| self.verdict(size, peer, None))).collect()
    }

    /// The first stack's own histories, and those of stacks that are told.
    fn judge_histories(&self, size: u64) -> Vec<RatioVerdict> {
        let first = &self.benchmark.stacks[0];
        let held = self.claim.against.iter().map(|_| self.worst_history(size, first, self.claim.limit()));
        let stack = |peer: &'a String| if peer == HISTORY { first } else { peer };
        held.chain(self.claim.told.iter().map(|peer| self.worst_history(size, stack(peer), None))).collect()
    }

    /// The worst ratio of a history to the best one.
    fn worst_history(&self, size: u64, stack: &str, limit: Option<Limit>) -> RatioVerdict {
        let labels = history::names().map(|name| history::after(stack, name));
        let best = self.best_of(&labels, size);
        let ratio = |label: &String| finding(&self.stack_values(label, size), &self.stack_values(best?, size));
        let found: Option<Vec<_>> = labels.iter().map(|label| Some((label, ratio(label)?))).collect();
        let worse = |a: &Finding, b: &Finding| self.better(b.ratio.median, a.ratio.median);
        let worst = found.unwrap_or_default().into_iter().max_by(|(_, a), (_, b)| worse(a, b));
        let (benchmark, link) = (self.benchmark.name.clone(), self.link.to_string());
        let (stack, peer, finding) = match (worst, best) {
            (Some((label, finding)), Some(best)) => (label.clone(), best.clone(), Some(finding)),
            _ => (stack.to_string(), "its histories".to_string(), None),
        };
        RatioVerdict { benchmark, link, size, stack, peer, unit: self.unit.clone(), finding, limit }
    }

    /// The peer that is the best in the median; the first where none was measured.
    fn best(&self, size: u64) -> Option<&'a String> {
        self.best_of(&self.claim.against, size).or(self.claim.against.first())
    }

    fn best_of<'b>(&self, peers: &'b [String], size: u64) -> Option<&'b String> {
        let median =
            |peer: &String| Some(Spread::of(&self.peer_values(peer, size).into_values().collect::<Vec<_>>())?.median);
        let measured = peers.iter().filter_map(|peer| Some((median(peer)?, peer)));
        measured.max_by(|(a, _), (b, _)| self.better(*a, *b)).map(|(_, peer)| peer)
    }

    /// The better value is the greater one.
    fn better(&self, a: f64, b: f64) -> Ordering {
        if self.lower_is_better { b.total_cmp(&a) } else { a.total_cmp(&b) }
    }

    fn verdict(&self, size: u64, peer: &str, limit: Option<Limit>) -> RatioVerdict {
        let stack = self.benchmark.stacks[0].clone();
        let finding = finding(&self.stack_values(&stack, size), &self.peer_values(peer, size));
        let (benchmark, link) = (self.benchmark.name.clone(), self.link.to_string());
        RatioVerdict { benchmark, link, size, stack, peer: peer.to_string(), unit: self.unit.clone(), finding, limit }
    }

    fn stack_values(&self, stack: &str, size: u64) -> Rounds {
        self.values.get(&(stack.to_string(), size)).cloned().unwrap_or_default()
    }

    /// Those of a stack; what is computed is the same in all rounds.
    fn peer_values(&self, peer: &str, size: u64) -> Rounds {
        let computed = match peer {
            SUM => self.sum(),
            BOUND => self.bound(size),
            _ => return self.stack_values(peer, size),
        };
        let rounds = self.stack_values(&self.benchmark.stacks[0], size).into_keys();
        computed.map(|value| rounds.map(|round| (round, value)).collect()).unwrap_or_default()
    }

    /// MB/s that plain streams got over all rails at once.
    fn sum(&self) -> Option<f64> {
        let rails = &self.measured?.rails;
        rails.iter().map(|rail| rail.measured_mbit).sum::<Option<f64>>().map(|mbit| mbit / 8.0 * PAYLOAD_SHARE)
    }

    /// Least time in us, or greatest rate in MB/s, by the rates asked for and the round trip measured.
    fn bound(&self, size: u64) -> Option<f64> {
        let rails = &self.measured?.rails;
        let asked = || rails.iter().map(|rail| rail.rate_mbit).sum::<Option<f64>>();
        // Rails that let only a packet pass at once lose some percent of their rate to late timers.
        let by_packets = rails.iter().any(|rail| rail.burst == Burst::Packet);
        let mb_s = if by_packets { self.sum()? } else { asked()? / 8.0 * PAYLOAD_SHARE };
        let round_trip_us = rails.first()?.round_trip_us?.mean;
        let option = |name: &str| self.benchmark.options.value(name).and_then(|value| value.parse::<f64>().ok());
        let transfer_us = size as f64 / mb_s;
        Some(match self.benchmark.program.name() {
            "exchange" => round_trip_us / 2.0 + option("--neighbours").unwrap_or(1.0) * transfer_us,
            "latency" => round_trip_us / 2.0 + transfer_us,
            // A window, and its acknowledgement.
            _ => {
                let window = option("--window").unwrap_or(WINDOW);
                window * size as f64 / (round_trip_us + window * transfer_us)
            }
        })
    }
}

fn finding(ours: &Rounds, theirs: &Rounds) -> Option<Finding> {
    let pairs = ours.iter().filter_map(|(round, ours)| Some((*ours, *theirs.get(round)?)));
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    Some(Finding { ours: Spread::of(&ours)?.median, theirs: Spread::of(&theirs)?.median, ratio: Spread::of(&ratios)? })
}

impl Verdict {
    /// Whether it is not shown to hold.
    pub fn is_missed(&self) -> bool {
        match self {
            Verdict::Ratio(ratio) => ratio.is_missed(),
            Verdict::Failover(judged) => judged.is_missed(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Ratio(ratio) => ratio.fmt(f),
            Verdict::Failover(judged) => judged.fmt(f),
        }
    }
}

impl RatioVerdict {
    /// Whether the claim is not shown to hold: it does not, or a value is missing.
    fn is_missed(&self) -> bool {
        let holds = |limit: Limit| self.finding.is_some_and(|finding| limit.holds(finding.ratio.median));
        self.limit.is_some_and(|limit| !holds(limit))
    }
}

impl fmt::Display for RatioVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RatioVerdict { benchmark, link, size, stack, peer, .. } = self;
        write!(f, "{benchmark}, {link}, {size} bytes: ")?;
        let Some(Finding { ours, theirs, ratio }) = self.finding else {
            return write!(f, "{stack} and {peer} were not both measured: {}", self.limit.map_or("told", |_| "MISSED"));
        };
        let Spread { median, least, greatest } = ratio;
        write!(f, "{stack} {}, {peer} {}, ", text::digits(ours), text::digits(theirs))?;
        write!(f, "ratio {median:.3} ({least:.3}-{greatest:.3}), ")?;
        let word = if self.is_missed() { "MISSED" } else { "holds" };
        match self.limit {
            None => f.write_str("told"),
            Some(Limit::AtMost(most)) => write!(f, "at most {most:.2}: {word}"),
            Some(Limit::AtLeast(least)) => write!(f, "at least {least:.2}: {word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts on `holds` at 8 bytes, where stacks have these values in rounds.
    fn verdicts(program: &str, holds: &str, values: &[(&str, &[f64])]) -> Vec<RatioVerdict> {
        let text = format!(
            "[[benchmarks]]\nname = \"row\"\nprogram = \"{program}\"\nstacks = [\"a\", \"b\", \"c\"]\nholds = {{ {holds} }}\n"
        );
        let plan = Plan::parse(&text, "plan").unwrap();
        let benchmark = &plan.benchmarks[0];
        let rail = |mbit| record::Rail {
            rate_mbit: Some(mbit),
            measured_mbit: Some(mbit / 2.0),
            round_trip_us: Some(record::RoundTrip { mean: 40.0, p99: 50.0 }),
            ..record::Rail::default()
        };
        let rails = vec![rail(1000.0), rail(250.0)];
        let link = record::Link { name: "lan".into(), rails, emulator_cpu: None, storage: None };
        let rounds = |values: &[f64]| (0..).zip(values.iter().copied()).collect::<Rounds>();
        let panel = Panel {
            benchmark,
            claim: benchmark.holds.as_ref().unwrap(),
            link: "lan",
            measured: Some(&link),
            lower_is_better: program == "latency",
            unit: String::new(),
            values: values.iter().map(|(stack, values)| ((stack.to_string(), 8), rounds(values))).collect(),
        };
        panel.sizes().into_iter().flat_map(|size| panel.judge(size)).collect()
    }

    #[test]
    fn a_ratio_beyond_the_limit_is_missed() {
        let values: &[(&str, &[f64])] = &[("a", &[10.0, 12.0, 11.0]), ("b", &[10.0, 10.0, 10.0])];
        let found = verdicts("latency", "against = [\"b\"], at_most = 1.02", values);
        let expected = "row, lan, 8 bytes: a 11.0, b 10.0, ratio 1.100 (1.000-1.200), at most 1.02: MISSED";
        assert_eq!((found[0].to_string().as_str(), found[0].is_missed()), (expected, true));
        assert!(!verdicts("latency", "against = [\"b\"], at_most = 1.1", values)[0].is_missed());
        let told = verdicts("latency", "told = [\"b\"]", values);
        assert!(told[0].to_string().ends_with("told") && !told[0].is_missed());
    }

    #[test]
    fn the_best_peer_has_the_least_time_or_the_greatest_rate() {
        let values: &[(&str, &[f64])] = &[("a", &[3.0]), ("b", &[2.0]), ("c", &[4.0])];
        let best = |program: &str| {
            let found = verdicts(program, "against = [\"b\", \"c\"], best_of = true, at_most = 1.0", values);
            assert_eq!(found.len(), 1);
            found[0].peer.clone()
        };
        assert_eq!((best("latency").as_str(), best("bandwidth").as_str()), ("b", "c"));
    }

    #[test]
    fn histories_are_held_against_the_best_one() {
        let labels = history::names().map(|name| history::after("a", name));
        let mut values: Vec<(&str, &[f64])> = labels.iter().map(|label| (label.as_str(), &[10.0, 10.0][..])).collect();
        values[2].1 = &[10.0, 12.0];
        values[3].1 = &[9.0, 9.5];
        let holds = |limit: &str| format!("against = [\"history\"], {limit} }}\nhistories = true #");
        let found = verdicts("latency", &holds("at_most = 1.05"), &values);
        assert_eq!(found.len(), 1);
        let expected =
            "row, lan, 8 bytes: a after large 11.0, a after middle 9.25, ratio 1.187 (1.111-1.263), at most 1.05";
        assert_eq!(found[0].to_string(), format!("{expected}: MISSED"));
        let found = verdicts("bandwidth", &holds("at_least = 0.8"), &values);
        assert!(found[0].to_string().contains("a after middle 9.25, a after large 11.0, ratio 0.846"), "{}", found[0]);
        values.pop();
        let found = verdicts("latency", &holds("at_most = 1.05"), &values);
        assert!(found[0].to_string().ends_with("a and its histories were not both measured: MISSED"), "{}", found[0]);
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let found = verdicts("latency", "against = [\"b\"], at_most = 1.0, told = [\"c\"]", &[("a", &[1.0])]);
        assert!(found[0].is_missed() && !found[1].is_missed());
        assert!(found[0].to_string().ends_with("a and b were not both measured: MISSED"), "{}", found[0]);
        assert!(verdicts("latency", "against = [\"b\"], at_most = 1.0", &[])[0].is_missed());
    }

    #[test]
    fn bounds_follow_from_rates_and_the_round_trip() {
        let theirs = |program: &str, peer: &str| {
            let holds = format!("against = [\"{peer}\"], at_least = 0.9");
            verdicts(program, &holds, &[("a", &[1.0])])[0].finding.unwrap().theirs
        };
        let mb_s = 1250.0 / 8.0 * PAYLOAD_SHARE;
        assert!((theirs("latency", BOUND) - (20.0 + 8.0 / mb_s)).abs() < 1e-9);
        assert!((theirs("bandwidth", BOUND) - 512.0 / (40.0 + 512.0 / mb_s)).abs() < 1e-9);
        assert!((theirs("bandwidth", SUM) - mb_s / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_rail_that_failed_is_judged_by_the_longest_time_of_all_rounds() {
        let text = "rounds = 2\nlinks = [{ name = \"lan\", rails = [{}] }]\n[[benchmarks]]\nname = \"cut\"\nprogram = \"bandwidth\"\n\
                    stacks = [\"a\"]\nfailover = { resumed_ms = 50, used_again_ms = 2000, full_sum_ms = 1000 }\n";
        let plan = Plan::parse(text, "plan").unwrap();
        let sample = |round: u32, metric: &str, value: f64| -> Sample {
            let fields = serde_json::json!({ "stack": "a", "link": "lan", "benchmark": "cut", "round": round, "ranks": 2,
                                             "metric": metric, "unit": "ms", "value": value });
            serde_json::from_value(fields).unwrap()
        };
        let samples = [(0, "resumed", 10.0), (1, "resumed", 60.0), (0, "used_again", 300.0), (0, "full_sum", 5.0)];
        let mut samples: Vec<Sample> =
            samples.into_iter().map(|(round, metric, value)| sample(round, metric, value)).collect();
        samples.push(sample(1, "used_again", 400.0));
        let found = failovers(&plan, &plan.benchmarks[0], &plan.benchmarks[0].failover.unwrap(), "lan", "a", &samples);
        let shown: Vec<String> = found.iter().map(Judged::to_string).collect();
        assert_eq!(
            shown,
            [
                "cut, lan, resumed: a 35 ms, greatest 60 ms of 2, at most 50 ms: MISSED",
                "cut, lan, used again: a 350 ms, greatest 400 ms of 2, at most 2000 ms: holds",
                "cut, lan, full sum: a not seen in each of 2 rounds, at most 1000 ms: MISSED",
            ]
        );
    }
}
