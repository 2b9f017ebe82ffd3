//! The program as a user has it, started by each test. One binary, so that long tests of one subcommand run beside those of
//! others, and all are linked once.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/preload.rs"]
mod preload;
#[path = "../common/rank_files.rs"]
mod rank_files;
#[path = "../common/records.rs"]
mod records;
#[path = "../common/script.rs"]
mod script;

mod applications;
mod bench;
mod compare;
mod errors;
mod examples;
mod help;
mod lab;
mod predict;
mod profile;
mod report;
mod reproduce;
mod rpi;
mod run;
mod storage;
mod testbed;
mod timeouts;
mod validate;
mod verdicts;
