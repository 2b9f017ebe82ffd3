//! The program `fishplate`.
#![forbid(unsafe_code)]

mod bench;
mod cli;
mod commands;
mod compare;
mod demo;
mod environment;
mod experiments;
mod hand_on;
mod interposer;
mod lab;
mod machines;
mod page;
mod record;
mod report;
mod show;
mod stacks;
mod statistics;
mod stats;
mod supervise;
mod testbed;
mod tools;
mod traffic;
mod validate;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fishplate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
