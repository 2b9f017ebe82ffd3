//! Colours and marks of stacks: equal in all charts of a report, and similar for each product in all reports.

use std::fmt::Write;

/// Colours that people with any kind of colour vision can tell apart (Okabe and Ito 2008), each for a light and a dark
/// ground, darkened or lightened where their contrast was too low. Warm ones are Fishplate's.
const WARM: [(&str, &str); 3] = [("#d04a02", "#ff7f45"), ("#b8860b", "#f0b429"), ("#b5478c", "#e58fc1")];
const COOL: [(&str, &str); 5] = [
    ("#0067a8", "#58aee8"),
    ("#00846a", "#2fc39c"),
    ("#4b5563", "#b4bcc8"),
    ("#5fa8d8", "#9fd4f7"),
    ("#5b4b9a", "#a99bea"),
];
/// Radius of a mark, in units of the picture.
const RADIUS: f64 = 4.2;

const PLUS: [(f64, f64); 12] = [
    (-0.45, -1.2),
    (0.45, -1.2),
    (0.45, -0.45),
    (1.2, -0.45),
    (1.2, 0.45),
    (0.45, 0.45),
    (0.45, 1.2),
    (-0.45, 1.2),
    (-0.45, 0.45),
    (-1.2, 0.45),
    (-1.2, -0.45),
    (-0.45, -0.45),
];

/// Style rules: colours by the stacks' positions.
pub fn colours(stacks: &[String]) -> String {
    let (mut warm, mut cool) = (0, 0);
    let mut rules = String::new();
    for (index, name) in stacks.iter().enumerate() {
        let own = name.to_lowercase().contains("fishplate");
        let (colours, used) = if own { (&WARM[..], &mut warm) } else { (&COOL[..], &mut cool) };
        let (light, dark) = colours[*used % colours.len()];
        // Past the last colour they repeat, dashed.
        let dash = if *used >= colours.len() { " --dash: 5 4;" } else { "" };
        *used += 1;
        let width = if own { 2.8 } else { 1.8 };
        // Writing to a string cannot fail.
        let _ = writeln!(rules, ".s{index} {{ --own: light-dark({light}, {dark}); --width: {width};{dash} }}");
    }
    rules
}

/// Style rules: unticking a stack in the legend takes it out of the charts.
pub fn switches(stacks: usize) -> String {
    let rule = |index| format!("body:has(#show-s{index}:not(:checked)) .plot .s{index} {{ display: none; }}\n");
    (0..stacks).map(rule).collect()
}

/// The outline of a stack's mark: shapes tell stacks apart where colours do not.
pub fn mark(index: usize, x: f64, y: f64) -> String {
    let r = RADIUS;
    let corners: &[(f64, f64)] = match index % 6 {
        0 => return format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", x - r, d = 2.0 * r),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.2), (1.1, 0.85), (-1.1, 0.85)],
        3 => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        4 => &[(0.0, 1.2), (1.1, -0.85), (-1.1, -0.85)],
        _ => &PLUS,
    };
    let points: Vec<String> = corners.iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx * r, y + dy * r)).collect();
    format!("M{}z", points.join("L"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_by_name_and_place() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let rules = colours(&names(&["tcp", "Fishplate", "ucx"]));
        assert!(rules.contains(&format!(".s0 {{ --own: light-dark({}", COOL[0].0)));
        assert!(rules.contains(&format!(".s1 {{ --own: light-dark({}", WARM[0].0)));
        assert!(rules.contains(&format!(".s2 {{ --own: light-dark({}", COOL[1].0)));
        let many = colours(&vec!["tcp".to_string(); 6]);
        assert_eq!(many.matches("--dash").count(), 1);
    }

    #[test]
    fn marks_differ() {
        let marks: std::collections::BTreeSet<String> = (0..6).map(|index| mark(index, 0.0, 0.0)).collect();
        assert_eq!(marks.len(), 6);
    }
}
