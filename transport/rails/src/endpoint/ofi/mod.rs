//! Links over the providers of a libfabric. Each is set up over a TCP stream to its peer, so that there are none to peers that TCP
//! does not reach.
//!
//! `connect` sets them up, `transfer` moves frames. `fishplate_rails_ofi` has the parts that need no endpoint.
//!
//! Called by the progress loop, by the send path, and by streams, which begin each set-up.

mod connect;
mod transfer;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex};

use fishplate_engine::{Instant, RailId, VcId};
use fishplate_link_core::Counts;
use fishplate_rails_ofi::adapters::{Adapter, SYSFS};
use fishplate_rails_ofi::wanted::{Wanted, named, names_interfaces};
use fishplate_rails_ofi::{self as ofi, OfiLink, SharedRail};
use slab::Slab;

use super::Endpoint;
use super::status_page::rail_without_address;
use crate::live::{self, State};
use crate::process;
use crate::rail::Rail;
use crate::settings::Settings;

/// The links of an endpoint over providers, by key, and their rails.
#[derive(Default)]
pub struct OfiLinks {
    links: Slab<OfiLink>,
    rails: Vec<OfiRail>,
}

struct OfiRail {
    wanted: Wanted,
    rail: SharedRail,
    name: String,
    /// Bytes per second, where that is known.
    speed: Option<f64>,
    /// Rails over network interfaces of the same adapter, which stand by.
    own_rails: Vec<RailId>,
    /// Its links, and those being set up, by the rail's names.
    ends: Vec<Option<End>>,
    /// When links that have failed are set up anew.
    pauses: HashMap<VcId, Pause>,
    /// When it is opened again, while it is closed.
    reopening: Pause,
}

/// Names the end of a link on this side.
#[derive(Clone, Copy)]
struct EndId {
    /// Position of the rail.
    rail: usize,
    /// The rail's name for the end.
    at: usize,
}

/// The end of a link on this side.
struct End {
    vc: VcId,
    /// Its key in [`OfiLinks`], once it is up.
    link: Option<usize>,
}

/// The pause before a failed link or rail is set up again.
#[derive(Clone, Copy, Default)]
struct Pause {
    until: Instant,
    ns: u64,
}

/// The first pause after a failure, in nanoseconds.
const MIN_PAUSE_NS: u64 = 500_000_000;
/// The longest one.
const MAX_PAUSE_NS: u64 = 60_000_000_000;

impl Pause {
    /// It has failed again: the pause doubles.
    fn failed(&mut self, now: Instant) {
        self.ns = (2 * self.ns).clamp(MIN_PAUSE_NS, MAX_PAUSE_NS);
        self.until = now.plus_ns(self.ns);
    }
}

impl OfiLinks {
    /// Opens the rails that the settings name, or those of all adapters where they name none. A rail that cannot be opened is logged,
    /// and left out. `rails` are those over interfaces.
    pub fn open(settings: &Settings, rails: &[Rail]) -> OfiLinks {
        let named = named(&settings.rails);
        let is_named = named.is_some();
        let wanted = match named {
            Some(wanted) => wanted,
            None if settings.encryption || process::is_alone() == Some(true) => Vec::new(),
            None => ofi::find(&settings.rails),
        };
        let mut opened = OfiLinks::default();
        for wanted in wanted {
            let rail = match settings.encryption {
                true => Err("with FISHPLATE_ENCRYPTION=on nothing goes over it, as it cannot be encrypted".into()),
                false => ofi::open(&wanted, settings.checksum),
            };
            match rail {
                Ok(rail) => {
                    let own = match names_interfaces(&settings.rails) {
                        true => Vec::new(),
                        false => own_rails(&wanted.domain, &rail.device, rails),
                    };
                    add(&mut opened.rails, wanted, rail, own);
                }
                Err(why) if is_named => log::warn!("FISHPLATE_RAILS: {wanted} is no rail: {why}"),
                Err(why) => log::info!("{wanted} is no rail: {why}"),
            }
        }
        opened
    }

    fn end(&self, id: EndId) -> Option<&End> {
        self.rails[id.rail].ends[id.at].as_ref()
    }

    /// How many rails there are.
    pub fn rail_count(&self) -> usize {
        self.rails.len()
    }

    /// The names of the rails.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rails.iter().map(|rail| rail.name.as_str())
    }

    /// Rails over the interfaces of the adapters that have links to a peer.
    pub fn own_rails_of_links_to(&self, vc: VcId) -> Vec<RailId> {
        let is_to = |end: &End| end.vc == vc && end.link.is_some();
        let with_link = self.rails.iter().filter(|rail| rail.ends.iter().flatten().any(is_to));
        with_link.flat_map(|rail| rail.own_rails.iter().copied()).collect()
    }

    /// For tests: sets the rails over the interfaces of the first adapter.
    #[cfg(test)]
    pub fn set_own_rails(&mut self, rails: Vec<RailId>) {
        self.rails[0].own_rails = rails;
    }

    /// For tests: closes the first rail for good.
    #[cfg(test)]
    pub fn close_first(&mut self) {
        self.rails[0].reopening.until = Instant(u64::MAX);
        ofi::lock(&self.rails[0].rail).close("a test");
    }

    /// Whether links of a rail are being set up, or wait for that after a failure.
    pub fn is_connecting(&self, rail: usize) -> bool {
        self.rails[rail].ends.iter().flatten().any(|end| end.link.is_none())
    }
}

impl Deref for OfiLinks {
    type Target = Slab<OfiLink>;

    #[inline]
    fn deref(&self) -> &Slab<OfiLink> {
        &self.links
    }
}

impl DerefMut for OfiLinks {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slab<OfiLink> {
        &mut self.links
    }
}

/// Rails over interfaces of an adapter, and over the interface that gives a domain its name, as for provider `tcp`.
fn own_rails(domain: &str, device: &str, rails: &[Rail]) -> Vec<RailId> {
    let adapter = Adapter::of(Path::new(SYSFS), device);
    let is_own =
        |name: &String| name == domain || adapter.as_ref().is_some_and(|adapter| adapter.interfaces.contains(name));
    rails.iter().zip(0..).filter(|(rail, _)| is_own(&rail.interface)).map(|(_, number)| RailId(number)).collect()
}

fn add(rails: &mut Vec<OfiRail>, wanted: Wanted, mut rail: ofi::Rail, own_rails: Vec<RailId>) {
    let is_like = |other: &&OfiRail| {
        let other = ofi::lock(&other.rail);
        (&other.provider, &other.fabric) == (&rail.provider, &rail.fabric)
    };
    rail.ordinal = rails.iter().filter(is_like).count() as u8;
    let (name, speed) = (rail.name.clone(), rail.speed.map(|bits| bits as f64 / 8.0));
    let rail = Arc::new(Mutex::new(rail));
    let (ends, pauses, reopening) = (Vec::new(), HashMap::new(), Pause::default());
    rails.push(OfiRail { wanted, rail, name, speed, own_rails, ends, pauses, reopening });
}

impl Endpoint {
    /// The rail number of a provider's rail in the counters, behind the interfaces.
    pub(in crate::endpoint) fn ofi_rail(&self, rail: usize) -> RailId {
        RailId((self.host.rails.len() + rail) as u8)
    }

    /// Provider's rail `at` with its counts, for `fishplate top`.
    pub(super) fn ofi_page(&self, at: usize, sum: &Counts) -> live::Rail {
        let is_over = |link: &&OfiLink| usize::from(link.common.rail.0) == at;
        let links = self.links.ofi.iter().map(|(_, link)| link).filter(is_over).count() as u32;
        let rail = at - self.host.rails.len();
        let state = match links {
            1.. => State::Up,
            _ if self.links.ofi.is_connecting(rail) => State::Connecting,
            _ if self.diagnostics.counters.has_ended(at) => State::Ended,
            _ => State::Idle,
        };
        rail_without_address(&self.links.ofi.rails[rail].name, state, links, sum)
    }
}
