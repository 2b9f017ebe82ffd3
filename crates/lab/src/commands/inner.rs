//! Hidden subcommands with which the program starts itself inside a testbed.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::testbed::host;

/// Becomes a host: makes its namespaces and keeps them until standard input ends.
#[derive(clap::Args)]
pub struct HoldHost {
    /// Its host name.
    name: String,
}

/// Runs a command inside a host.
#[derive(clap::Args)]
pub struct EnterHost {
    /// Process that holds the host's namespaces, as /proc numbers it.
    holder: u32,
    /// What to run there.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// `hold-host`.
pub fn hold(args: HoldHost) -> Result<ExitCode> {
    host::hold(&args.name)?;
    Ok(ExitCode::SUCCESS)
}

/// `enter-host`.
pub fn enter(args: EnterHost) -> Result<ExitCode> {
    match host::enter(args.holder, &args.command)? {}
}
