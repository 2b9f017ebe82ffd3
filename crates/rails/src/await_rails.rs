//! The rails of this host, once there are any: addresses and carriers may come a moment after MPI has started.

use std::thread;
use std::time::{Duration, Instant};

use crate::address::is_link_local;
use crate::discover::{DiscoverError, Interface, reasons, survey};
use crate::process;
use crate::settings::Settings;

/// How often to look.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for the other interfaces once one has an address: what sets them up does so one after the other.
const SETTLING: Duration = Duration::from_secs(1);
/// How long to wait for better addresses where there are only those that every interface makes up for itself.
const PATIENCE_WITH_LINK: Duration = Duration::from_secs(2);

/// What is missing, for the user.
enum Missing {
    /// Nothing can be done without it.
    Way(String),
    /// There is something to make do with.
    Better(String, Vec<Interface>),
}

/// All interfaces, rails first, one at least of which is a rail. Waits until there is one, up to the timeout of `settings`, and
/// says so.
pub fn await_rails(settings: &Settings) -> Result<Vec<Interface>, String> {
    let start = Instant::now();
    let mut has_told = false;
    loop {
        let missing = match look(&settings.rails, process::is_alone())? {
            Ok(interfaces) if !has_told => return Ok(interfaces),
            Ok(_) => return settled(&settings.rails),
            Err(missing) => missing,
        };
        let (why, patience) = match &missing {
            Missing::Way(why) => (why, settings.timeout),
            Missing::Better(why, _) => (why, settings.timeout.min(PATIENCE_WITH_LINK)),
        };
        if start.elapsed() >= patience {
            return match missing {
                Missing::Way(why) => Err(format!("{}: gave up after {} s: {why}", process::name(), patience.as_secs())),
                Missing::Better(_, interfaces) => Ok(interfaces),
            };
        }
        if !has_told {
            log::warn!("waits for the network, up to {} s: {why}", patience.as_secs());
            has_told = true;
        }
        thread::sleep(PAUSE);
    }
}

/// The interfaces, or what is missing; an error that waiting would not mend.
fn look(wanted: &[String], is_alone: Option<bool>) -> Result<Result<Vec<Interface>, Missing>, String> {
    let interfaces = match survey(wanted) {
        Ok(interfaces) => interfaces,
        Err(error) if error.may_pass() => return Ok(Err(Missing::Way(error.to_string()))),
        Err(error) => return Err(error.to_string()),
    };
    let rails: Vec<&Interface> = interfaces.iter().filter(|interface| interface.is_rail()).collect();
    if rails.is_empty() {
        return Err(no_way(&interfaces));
    }
    // Nobody has to wait who only talks to this host.
    if is_alone != Some(false) || !wanted.is_empty() {
        return Ok(Ok(interfaces));
    }
    let coming = interfaces.iter().filter(|interface| interface.may_get_address);
    let coming: Vec<&str> = coming.map(|interface| interface.name.as_str()).collect();
    match (rails.iter().all(|rail| rail.is_loopback), coming.as_slice()) {
        (true, []) => Err(no_way(&interfaces)),
        (true, coming) => Ok(Err(Missing::Way(format!("no address on {}", coming.join(", "))))),
        (false, coming) if !coming.is_empty() && rails.iter().all(|rail| has_own_address_alone(rail)) => {
            let why = format!("no address but that of its link on {}", coming.join(", "));
            Ok(Err(Missing::Better(why, interfaces)))
        }
        (false, _) => Ok(Ok(interfaces)),
    }
}

fn no_way(interfaces: &[Interface]) -> String {
    format!("{}: no network interface leads to other hosts: {}", process::name(), {
        let loopback = interfaces.iter().find(|interface| interface.is_rail() && interface.is_loopback);
        let others = reasons(interfaces);
        loopback.map_or(others.clone(), |lo| format!("{}: loopback; {others}", lo.name))
    })
}

/// Whether it has only the address of IPv6 that every interface makes up for itself.
fn has_own_address_alone(interface: &Interface) -> bool {
    interface.is_loopback || interface.addresses.iter().all(|own| own.ip.is_ipv6() && is_link_local(&own.ip))
}

/// The interfaces, once all that are up have an address, or soon.
fn settled(wanted: &[String]) -> Result<Vec<Interface>, String> {
    let start = Instant::now();
    loop {
        let interfaces = survey(wanted).map_err(|error: DiscoverError| error.to_string())?;
        let is_settled = !interfaces.iter().any(|interface| interface.may_get_address && interface.is_up());
        if is_settled || start.elapsed() >= SETTLING {
            return Ok(interfaces);
        }
        thread::sleep(PAUSE);
    }
}
