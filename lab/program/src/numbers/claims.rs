//! The ratios of a plan's claims: a row for each benchmark, link, size and peer.

use anyhow::{Context, Result, ensure};

use super::choice::{Choice, has, position};
use super::grid::{self, Grid, Row};
use crate::bench;
use crate::bench::verdict::{self, Finding, RatioVerdict, Verdict};
use crate::record::Record;
use crate::statistics::Spread;

/// The table.
///
/// # Errors
/// When the record has no plan with claims, or a value is missing.
pub fn grid(choice: &Choice, record: &Record) -> Result<Grid> {
    ensure!(!choice.links_across && choice.metrics.is_empty(), "claims have no `metrics`, and links are rows");
    let plan = bench::plan_of(record)?;
    let mut chosen: Vec<((usize, usize), RatioVerdict)> = Vec::new();
    for verdict in verdict::of(&plan, record) {
        let Verdict::Ratio(ratio) = verdict else { continue };
        let benchmarks = plan.benchmarks.iter().map(|benchmark| &benchmark.name);
        let place = position(&choice.benchmarks, benchmarks, &ratio.benchmark).zip(position(
            &choice.links,
            record.manifest.links.iter(),
            &ratio.link,
        ));
        let has_stacks = has(&choice.stacks, &ratio.stack) && has(&choice.peers, &ratio.peer);
        let is_shown = has_stacks && choice.has_size(ratio.size);
        chosen.extend(place.filter(|_| is_shown).map(|place| (place, ratio)));
    }
    ensure!(!chosen.is_empty(), "its plan has no such claims");
    chosen.sort_by_key(|(place, ratio)| (*place, ratio.size));
    let ratios: Vec<RatioVerdict> = chosen.into_iter().map(|(_, ratio)| ratio).collect();
    of(&ratios)
}

/// Stack and peer are titles where they are the same in all rows.
fn of(ratios: &[RatioVerdict]) -> Result<Grid> {
    let one_stack = ratios.iter().all(|ratio| ratio.stack == ratios[0].stack);
    let one_peer = ratios.iter().all(|ratio| ratio.peer == ratios[0].peer);
    let row = |ratio: &RatioVerdict| -> Result<Row> {
        let RatioVerdict { benchmark, link, stack, peer, unit, .. } = ratio;
        let finding = ratio.finding.with_context(|| format!("{benchmark}, {link}: {stack} and {peer} lack values"))?;
        let Finding { ours, theirs, ratio: Spread { median, least, greatest } } = finding;
        let mut labels = vec![unit.clone(), benchmark.clone(), link.clone(), grid::size(ratio.size)];
        labels.push(if one_stack { String::new() } else { stack.clone() });
        labels.push(if one_peer { String::new() } else { peer.clone() });
        let spread = format!("{median:.3} ({least:.3}-{greatest:.3})");
        Ok(Row { labels, cells: vec![grid::number(ours), grid::number(theirs), spread] })
    };
    let title =
        |is_one: bool, name: &String, else_title: &str| vec![if is_one { name.clone() } else { else_title.into() }];
    Ok(Grid {
        labels: vec!["unit", "benchmark", "rails, Mbit/s", "message size", "of", "compared with"],
        titles: vec![
            title(one_stack, &ratios[0].stack, "value"),
            title(one_peer, &ratios[0].peer, "its value"),
            vec!["ratio".into()],
        ],
        rows: ratios.iter().map(row).collect::<Result<_>>()?,
    })
}
