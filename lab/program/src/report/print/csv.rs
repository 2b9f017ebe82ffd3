//! All points as comma-separated values: a line a stack and place.

use anyhow::Result;

use super::labels;
use crate::report::model::{Panel, Points};
use crate::report::{Report, comparison};

const TITLES: &str = "benchmark,metric,unit,link,ranks,size_bytes,options,axis,place,stack,rounds,median,least,greatest,p99,\
                      ratio,ratio_low,ratio_high";

/// The text.
///
/// # Errors
/// When memory is out.
pub fn render(report: &Report) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(TITLES.split(','))?;
    for (panel, points) in &report.model.panels {
        for row in rows(report, panel, points) {
            writer.write_record(row)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn rows(report: &Report, panel: &Panel, points: &Points) -> Vec<Vec<String>> {
    let model = &report.model;
    let benchmark = &model.benchmarks[panel.benchmark];
    let options: Vec<String> = panel.options.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
    let mut rows = Vec::new();
    for (place, stacks) in points {
        let compared = comparison::compare(panel, points, Some(*place), model.stacks.len(), report.reference);
        for (stack, rounds) in stacks {
            let Some(spread) = labels::spread(points, *place, *stack) else { continue };
            let ratio = compared.ratios[*stack];
            let ends = ratio.and_then(|ratio| ratio.interval);
            let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
            rows.push(vec![
                benchmark.name.clone(),
                panel.metric.clone(),
                panel.unit.clone(),
                panel.link.map_or(String::new(), |link| model.links[link].clone()),
                panel.ranks.map_or(String::new(), |ranks| ranks.to_string()),
                panel.size_bytes.map_or(String::new(), |size| size.to_string()),
                options.join(";"),
                benchmark.axis.id().to_string(),
                place.0.to_string(),
                model.stacks[*stack].clone(),
                rounds.len().to_string(),
                spread.median.to_string(),
                spread.least.to_string(),
                spread.greatest.to_string(),
                labels::p99(points, *place, *stack).map_or(String::new(), |p99| p99.to_string()),
                number(ratio.map(|ratio| ratio.mean)),
                number(ends.map(|ends| ends.0)),
                number(ends.map(|ends| ends.1)),
            ]);
        }
    }
    rows
}
