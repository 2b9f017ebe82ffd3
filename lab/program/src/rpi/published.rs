//! Results published in endapps-2006, for programs known here.

/// A published RPI, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    pub least: f64,
    pub greatest: f64,
}

/// Under which conditions.
pub const CONDITIONS: &str = "endapps-2006, NAS class B on 8 nodes: 1 Gbit/s, 2 x 1 Gbit/s, InfiniBand of 8 Gbit/s";

impl Published {
    /// For a program's file name: `cg`, `cg.A`, `CG.B.x`, `cg.B.4`.
    pub fn of(program: &str) -> Option<Published> {
        let name = program.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let (least, greatest) = match name.as_str() {
            "is" | "cg" => (55.0, 55.0),
            "mg" | "ep" | "lu" | "sp" | "bt" => (90.0, 100.0),
            _ => return None,
        };
        Some(Published { least, greatest })
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
