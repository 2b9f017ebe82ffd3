//! Plain sockets on an emulated link: their server, and multipath TCP.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};

use crate::lab::Lab;
use crate::testbed::rail_name;

/// More paths than any link has rails.
const MOST_PATHS: &str = "8";

/// The host of the server: the second of two that are as far apart as can be. The client is on the first.
pub fn server_host(lab: &Lab) -> usize {
    lab.topology().spread(2).last().copied().unwrap_or_default()
}

/// The command line of the server.
pub fn serve(program: &Path, multipath: bool) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![program.into(), "serve".into()];
    if multipath {
        line.push("--mptcp".into());
    }
    line
}

/// Lets multipath TCP use all rails: the server tells its addresses, the client uses its own.
pub fn join_paths(lab: &Lab) -> Result<()> {
    for (host, role) in [(server_host(lab), "signal"), (0, "subflow")] {
        let host = &lab.hosts()[host];
        let mut lines = format!("mptcp limits set subflow {MOST_PATHS} add_addr_accepted {MOST_PATHS}\n");
        for rail in 0..lab.rails() {
            lines += &format!("mptcp endpoint add {} dev {} {role}\n", host.rail_address(rail), rail_name(rail));
        }
        host.batch("ip", &lines).context("cannot set up multipath TCP (does the kernel have it?)")?;
    }
    Ok(())
}
