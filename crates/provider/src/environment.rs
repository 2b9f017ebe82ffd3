//! The settings from the environment, and words to the user on stderr.

use std::io::Write;
use std::sync::{Arc, Mutex, Once};

use fishplate_rails::Settings;
use ofi_abi::FI_EINVAL;

use crate::errno::{Errno, Outcome, lock_plain};

/// The settings. A wrong one is told once a process: libfabric asks several times, and drops the reason.
pub fn settings() -> Outcome<Settings> {
    static TOLD: Once = Once::new();
    Settings::from_env().map_err(|error| {
        TOLD.call_once(|| tell(&error));
        Errno(FI_EINVAL)
    })
}

/// Prints one line, in one piece: other ranks print as well. A closed stderr is nobody's error.
pub fn tell(what: &dyn std::fmt::Display) {
    let _ = std::io::stderr().write_all(format!("fishplate: {what}\n").as_bytes());
}

/// Prints one line, unless it was the last one: for what happens again with every call.
pub fn tell_change(what: &Arc<str>) {
    static LAST: Mutex<Option<Arc<str>>> = Mutex::new(None);
    let mut last = lock_plain(&LAST);
    if last.as_ref() != Some(what) {
        tell(what);
        *last = Some(what.clone());
    }
}
