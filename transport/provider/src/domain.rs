//! Fabric and domain: state that all objects opened below them share.

use std::sync::Arc;

use fishplate_rails::Settings;

use crate::regions::{Addressing, Regions};

pub struct Fabric {
    /// From the environment, when the fabric was opened.
    pub settings: Settings,
}

/// An opened domain. Objects below hold it, so that it cannot be closed before them.
pub struct Domain {
    pub fabric: Arc<Fabric>,
    /// Version of libfabric's interface that the application was written for.
    pub api_version: u32,
    /// Data has to move without calls of the application (`FI_PROGRESS_AUTO`).
    pub is_automatic: bool,
    pub regions: Regions,
}

impl Domain {
    pub fn new(fabric: Arc<Fabric>, api_version: u32, addressing: Addressing, is_automatic: bool) -> Domain {
        Domain { fabric, api_version, is_automatic, regions: Regions::new(addressing) }
    }
}
