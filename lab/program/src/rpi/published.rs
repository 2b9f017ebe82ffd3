//! Results published in endapps-2006, for programs known here.

/// A published RPI, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    pub least: f64,
    pub greatest: f64,
}

/// Under which conditions.
pub const CONDITIONS: &str = "endapps-2006, NAS class B on 8 nodes: 1 Gbit/s, 2 x 1 Gbit/s, InfiniBand of 8 Gbit/s";

const ALMOST_ALL: Published = Published { least: 90.0, greatest: 100.0 };
const ABOUT_HALF: Published = Published { least: 55.0, greatest: 55.0 };

/// By the NAS programs' names.
pub const PROGRAMS: [(&str, Published); 7] = [
    ("is", ABOUT_HALF),
    ("cg", ABOUT_HALF),
    ("mg", ALMOST_ALL),
    ("ep", ALMOST_ALL),
    ("lu", ALMOST_ALL),
    ("sp", ALMOST_ALL),
    ("bt", ALMOST_ALL),
];

impl Published {
    /// For a program's file name: `cg`, `cg.A`, `CG.B.x`, `cg.B.4`.
    pub fn of(program: &str) -> Option<Published> {
        let name = program.split('.').next().unwrap_or_default().to_ascii_lowercase();
        PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, published)| *published)
    }

    pub fn words(&self) -> String {
        let Published { least, greatest } = self;
        if least == greatest { format!("about {least:.0} %") } else { format!("{least:.0} to {greatest:.0} %") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_the_names_that_they_usually_have() {
        assert_eq!(Published::of("IS.B.x").unwrap().words(), "about 55 %");
        assert_eq!(Published::of("mg").unwrap().words(), "90 to 100 %");
        assert_eq!((Published::of("lulesh"), Published::of("")), (None, None));
    }
}
