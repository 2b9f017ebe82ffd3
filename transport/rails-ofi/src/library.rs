//! The libfabric whose providers are used: the one that the MPI has loaded.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::OnceLock;

use crate::Rail;
use crate::adapters::{Adapter, SYSFS};
use crate::choice::{Candidate, NATIVE, choose};
use crate::registration_cache;
use crate::sys::{EndpointKind, Library, Offer};
use crate::wanted::Wanted;

static PATH: OnceLock<CString> = OnceLock::new();

/// Use the loaded libfabric at `path`.
pub fn use_library(path: &CStr) {
    // If there are several, the first one is used.
    let _ = PATH.set(path.to_owned());
}

/// For tests of other crates: loads the libfabric called `name`, and uses it.
#[cfg(feature = "test-support")]
pub fn load_library(name: &CStr) -> Result<(), String> {
    Library::open(name, false)?;
    use_library(name);
    Ok(())
}

/// Opens a rail over a domain of a provider. An error says why that is not possible.
pub fn open(wanted: &Wanted, checksums: bool) -> Result<Rail, String> {
    let mut rail = open_plain(wanted)?;
    if checksums {
        rail.add_checksums();
    }
    Ok(rail)
}

fn open_plain(wanted: &Wanted) -> Result<Rail, String> {
    let Wanted { provider, kind, domain } = wanted;
    let path = PATH.get().ok_or("it is not known which libfabric has called")?;
    let library = Library::open(path, true)?;
    let version = library.version();
    let what = format!("the provider {provider} of libfabric {version}");
    let offers = match kind {
        Some(kind) => Offer::of_kind(&library, provider, *kind),
        None => Offer::all(&library, provider),
    };
    let offers = offers.map_err(|error| format!("{what} does not offer {} ({error})", needed(*kind)))?;
    let mut names: Vec<&str> = offers.iter().map(|offer| offer.domain.as_str()).collect();
    names.dedup();
    let missing = format!("{what} has no domain {domain}, but {}", names.join(", "));
    let offer = offers.into_iter().find(|offer| offer.domain == *domain).ok_or(missing)?;
    if offer.is_up == Some(false) {
        return Err("its link is down".into());
    }
    if offer.registers_memory() {
        registration_cache::check(|name| std::env::var(name).ok())?;
    }
    let (upper, is_layered) = (offer.provider.clone(), offer.provider.contains(';'));
    // A layered provider finds the one below it as applications do, so that FI_PROVIDER may hide that.
    Rail::open(offer, wanted.to_string()).map_err(|error| match is_layered {
        true => format!(
            "{error}; {upper} can be one only if FI_PROVIDER does not hide {}",
            upper.split(';').next().unwrap_or_default()
        ),
        false => error.to_string(),
    })
}

/// The domains that become rails without being named; `words`: of FISHPLATE_RAILS.
pub fn find(words: &[String]) -> Vec<Wanted> {
    let sysfs = Path::new(SYSFS);
    // Most hosts have no adapters: skip the providers, some of which are slow.
    if Adapter::names(sysfs).is_empty() {
        return Vec::new();
    }
    let Some(library) = PATH.get().and_then(|path| Library::open(path, true).ok()) else { return Vec::new() };
    let offers = NATIVE.iter().filter_map(|provider| Offer::all(&library, provider).ok()).flatten();
    let describe = |offer: Offer| Candidate {
        provider: offer.provider.clone(),
        domain: offer.domain.clone(),
        device: offer.device.clone(),
        is_up: offer.is_up,
    };
    choose(&offers.map(describe).collect::<Vec<_>>(), words, sysfs)
}

fn needed(kind: Option<EndpointKind>) -> &'static str {
    match kind {
        Some(EndpointKind::Datagram) => "reliable datagrams with remote reads",
        Some(EndpointKind::Connected) => "connections with remote reads",
        None => "reliable datagrams or connections with remote reads",
    }
}
