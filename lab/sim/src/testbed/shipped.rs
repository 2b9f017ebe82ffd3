//! Testbeds that come with the program.

/// Name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("multirail-2004", include_str!("../../testbeds/multirail-2004.toml")),
    ("endapps-2006", include_str!("../../testbeds/endapps-2006.toml")),
    ("pecnit-2007-ib", include_str!("../../testbeds/pecnit-2007-ib.toml")),
    ("pecnit-2007-quadrics", include_str!("../../testbeds/pecnit-2007-quadrics.toml")),
    ("ib-2x400", include_str!("../../testbeds/ib-2x400.toml")),
    ("fat-tree", include_str!("../../testbeds/fat-tree.toml")),
    ("eth-100g-wan", include_str!("../../testbeds/eth-100g-wan.toml")),
    ("emulated", include_str!("../../testbeds/emulated.toml")),
    ("wan-2008", include_str!("../../testbeds/wan-2008.toml")),
];

/// The text of a testbed that comes with the program.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
