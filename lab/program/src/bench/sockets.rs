//! Plain sockets on an emulated link: their server, and multipath TCP.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use crate::lab::Lab;
use crate::testbed::multipath;

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
        multipath::use_all_rails(&lab.hosts()[host], lab.rails(), role)?;
    }
    Ok(())
}
