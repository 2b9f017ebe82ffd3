//! Error messages, printed before an error on which the MPI may abort the job.

use std::sync::{Arc, Mutex};

use fishplate_guest::report;
use fishplate_rails::process;

use crate::errno::lock_plain;

/// Prints an error of this rank, unless it equals the last one: some occur again with every call.
pub fn report_if_new(what: &Arc<str>) {
    static LAST: Mutex<Option<Arc<str>>> = Mutex::new(None);
    let mut last = lock_plain(&LAST);
    if last.as_ref() != Some(what) {
        report(format_args!("{}: {what}", process::name()));
        *last = Some(what.clone());
    }
}
