//! Multipath TCP between hosts.

use anyhow::{Context, Result};

use super::host::Host;
use super::rail_name;

/// More paths than any host has rails.
const MAX_PATHS: &str = "8";

/// Lets multipath TCP of `host` use its first `rails` rails: with role "signal" it sends others its addresses, as servers
/// do, with "subflow" it connects from them, as clients do.
pub fn use_all_rails(host: &Host, rails: usize, role: &str) -> Result<()> {
    let mut lines = format!("mptcp limits set subflow {MAX_PATHS} add_addr_accepted {MAX_PATHS}\n");
    for rail in 0..rails {
        lines += &format!("mptcp endpoint add {} dev {} {role}\n", host.rail_address(rail), rail_name(rail));
    }
    host.batch("ip", &lines).context("cannot set up multipath TCP (does the kernel have it?)")
}
