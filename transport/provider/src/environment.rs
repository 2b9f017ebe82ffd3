//! The settings from the environment.

use std::sync::Once;

use fishplate_rails::Settings;
use ofi_abi::FI_EINVAL;

use crate::errno::{Errno, Outcome};
use fishplate_guest::report;

/// The settings. An invalid one is reported once in a process: libfabric calls several times, and drops the reason.
pub fn settings() -> Outcome<Settings> {
    static TOLD: Once = Once::new();
    Settings::from_env().map_err(|error| {
        TOLD.call_once(|| report(&error));
        Errno(FI_EINVAL)
    })
}
