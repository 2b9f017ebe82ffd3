//! The rails of this host, once there are any: addresses and carriers may come a moment after MPI has started.

use std::thread;
use std::time::{Duration, Instant};

use crate::address::is_link_local;
use crate::discover::{Interface, are_named, reasons, survey};
use crate::process;
use crate::settings::Settings;

/// Time between two looks for interfaces.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for the other interfaces once one has an address: systems configure them one after the other.
const SETTLING: Duration = Duration::from_secs(1);
/// How long to wait for better addresses where all are link-local.
const PATIENCE_WITH_LINK: Duration = Duration::from_secs(2);

/// Why there are no usable rails yet; the texts are for the user.
enum Missing {
    /// No interface leads out yet; one may come.
    Way(String),
    /// No interface will come.
    Never(String),
    /// The setting is wrong.
    Mistake(String),
    /// Better addresses may come; these interfaces can be used until then.
    Better(String, Vec<Interface>),
}

/// The interfaces of this host.
pub struct Found {
    /// All of them, rails first; at least one is a rail.
    pub interfaces: Vec<Interface>,
    /// Why no rail leads to other hosts, if so.
    pub no_way: Option<String>,
}

/// Waits until there is a rail, up to the timeout of `settings`, and says so.
///
/// Where none comes, other hosts are out of reach, and the first message to one fails. Not yet the opening of the endpoint: a
/// rank that cannot begin is not noticed by some launchers (MPICH's hydra), so that the others would wait.
pub fn await_rails(settings: &Settings) -> Result<Found, String> {
    let start = Instant::now();
    let mut has_warned = false;
    loop {
        let missing = match find_interfaces(&settings.rails, process::is_alone()) {
            Ok(interfaces) if has_warned => settled(&settings.rails).or(Ok(interfaces)),
            looked => looked,
        };
        let missing = match missing {
            Ok(interfaces) => return Ok(Found { interfaces, no_way: None }),
            Err(missing) => missing,
        };
        let (why, patience) = match &missing {
            Missing::Never(why) => return loopback_alone(why.clone()),
            Missing::Mistake(error) => return Err(error.clone()),
            Missing::Way(why) => (why, settings.start_timeout),
            Missing::Better(why, _) => (why, settings.start_timeout.min(PATIENCE_WITH_LINK)),
        };
        if start.elapsed() >= patience {
            return match missing {
                Missing::Better(_, interfaces) => Ok(Found { interfaces, no_way: None }),
                _ => loopback_alone(format!("gave up after {} s: {why}", patience.as_secs())),
            };
        }
        if !has_warned {
            log::warn!("waits for the network, up to {} s: {why}", patience.as_secs());
            has_warned = true;
        }
        thread::sleep(PAUSE);
    }
}

/// Loopback as the only rail, where nothing leads to other hosts.
fn loopback_alone(why: String) -> Result<Found, String> {
    let error = |why: String| format!("{}: {why}", process::name());
    if process::is_alone() != Some(false) {
        return Err(error(why));
    }
    match survey(&["lo".into()]) {
        Ok(interfaces) => Ok(Found { interfaces, no_way: Some(why) }),
        Err(_) => Err(error(why)),
    }
}

/// The interfaces at present, or why there are none to use.
fn find_interfaces(wanted: &[String], is_alone: Option<bool>) -> Result<Vec<Interface>, Missing> {
    let interfaces = survey(wanted).map_err(|error| match error.may_pass() {
        true => Missing::Way(error.to_string()),
        false => Missing::Mistake(error.to_string()),
    })?;
    let rails: Vec<&Interface> = interfaces.iter().filter(|interface| interface.is_rail()).collect();
    let has_reserve = interfaces.iter().any(|interface| interface.class().is_some() && !interface.is_rail());
    if rails.is_empty() && !has_reserve {
        return Err(Missing::Mistake(no_way(&interfaces)));
    }
    // A job within this host need not wait.
    if is_alone != Some(false) || are_named(wanted) {
        return Ok(interfaces);
    }
    let coming = interfaces.iter().filter(|interface| interface.may_get_address);
    let coming: Vec<&str> = coming.map(|interface| interface.name.as_str()).collect();
    match (rails.iter().all(|rail| rail.is_of_host_alone()), coming.as_slice()) {
        (true, []) if has_reserve => Ok(interfaces),
        (true, []) => Err(Missing::Never(no_way(&interfaces))),
        (true, coming) => {
            let why = format!("no address on {}", coming.join(", "));
            match has_reserve {
                true => Err(Missing::Better(why, interfaces)),
                false => Err(Missing::Way(format!("{why}; no rails: {}", reasons(&interfaces)))),
            }
        }
        (false, coming) if !coming.is_empty() && rails.iter().all(|rail| has_own_address_alone(rail)) => {
            let why = format!("no address but that of its link on {}", coming.join(", "));
            Err(Missing::Better(why, interfaces))
        }
        (false, _) => Ok(interfaces),
    }
}

fn no_way(interfaces: &[Interface]) -> String {
    let loopback = interfaces.iter().find(|interface| interface.is_rail() && interface.is_of_host_alone());
    let loopback = loopback.map_or(String::new(), |lo| format!("{}: loopback; ", lo.name));
    format!("no network interface leads to other hosts: {loopback}{}", reasons(interfaces))
}

/// Whether its only address is link-local.
fn has_own_address_alone(interface: &Interface) -> bool {
    interface.is_of_host_alone() || interface.addresses.iter().all(|own| own.ip.is_ipv6() && is_link_local(&own.ip))
}

/// The interfaces once all that are up have an address, or after [`SETTLING`].
fn settled(wanted: &[String]) -> Result<Vec<Interface>, Missing> {
    let start = Instant::now();
    loop {
        let interfaces = survey(wanted).map_err(|error| Missing::Mistake(error.to_string()))?;
        let is_settled = !interfaces.iter().any(|interface| interface.may_get_address && interface.is_up());
        if is_settled || start.elapsed() >= SETTLING {
            return Ok(interfaces);
        }
        thread::sleep(PAUSE);
    }
}
