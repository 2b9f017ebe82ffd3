//! Error reports, before an error on which the MPI may abort the job.

use std::sync::{Arc, Mutex};

use fishplate_guest::report;
use fishplate_rails::process;

use crate::errno::lock_plain;

/// Prints a line about what this rank met, unless it was the last one: for what happens again with every call.
pub fn report_if_new(what: &Arc<str>) {
    static LAST: Mutex<Option<Arc<str>>> = Mutex::new(None);
    let mut last = lock_plain(&LAST);
    if last.as_ref() != Some(what) {
        report(format_args!("{}: {what}", process::name()));
        *last = Some(what.clone());
    }
}
