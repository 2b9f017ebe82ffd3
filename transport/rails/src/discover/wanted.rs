//! The user's choice, FISHPLATE_RAILS: names (also altnames), patterns, addresses and networks of interfaces, or, with `^`, those
//! that are to be no rails.

use std::net::IpAddr;

use fishplate_link_core::matches;

use crate::address::is_link_local;

use super::near::{names, near_name, nearest, paths_of};
use super::{DiscoverError, Interface, Network, Verdict, choice, is_global, reasons, same_network};

/// One word of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Name(String),
    /// With `*` and `?`.
    Pattern(String),
    Address(IpAddr),
    Network(Network),
    /// One of several paths over an interface, by the interface's name and the path's address.
    Path(String, IpAddr),
}

/// Whether a word of FISHPLATE_RAILS is well-formed.
pub fn is_word(word: &str) -> bool {
    let word = word.strip_prefix('^').unwrap_or(word);
    let is_name = !word.is_empty() && !word.contains(char::is_whitespace) && !word.contains(['/', '^', '"']);
    is_name || matches!(Word::of(word), Word::Network(_) | Word::Path(..))
}

/// Whether a list of FISHPLATE_RAILS names rails, rather than exclusions.
pub fn are_named(wanted: &[String]) -> bool {
    wanted.first().is_some_and(|word| !word.starts_with('^'))
}

impl Word {
    fn of(text: &str) -> Word {
        if let Ok(ip) = text.parse() {
            return Word::Address(ip);
        }
        if let Some(network) = network(text) {
            return Word::Network(network);
        }
        if let Some((name, ip)) = text.split_once('/')
            && let (true, Ok(ip)) = (is_word(name), ip.parse())
        {
            return Word::Path(name.to_string(), ip);
        }
        let text = text.to_string();
        if text.contains(['*', '?']) { Word::Pattern(text) } else { Word::Name(text) }
    }

    /// The property that an interface would need to match, for the error message.
    fn how(&self) -> &'static str {
        match self {
            Word::Name(_) => "is called",
            Word::Pattern(_) => "is called as in",
            Word::Address(_) => "has the address",
            Word::Network(_) => "has an address in",
            Word::Path(..) => "has the path",
        }
    }

    /// Whether it matches an interface.
    fn means(&self, interface: &Interface) -> bool {
        match self {
            Word::Name(name) => names(interface).any(|own| own == name),
            Word::Pattern(pattern) => names(interface).any(|name| matches(pattern, name)),
            Word::Path(name, _) if !names(interface).any(|own| own == name) => false,
            Word::Address(_) | Word::Network(_) | Word::Path(..) => !self.addresses_of(interface).is_empty(),
        }
    }

    /// Whether it, as an exclusion, takes an address from an interface.
    fn takes_out(&self, interface: &Interface, address: &Network) -> bool {
        match self {
            Word::Path(_, ip) => self.means(interface) && address.ip == *ip,
            _ => self.means(interface),
        }
    }

    /// The addresses of an interface that it matches.
    fn addresses_of(&self, interface: &Interface) -> Vec<Network> {
        let is_meant = |address: &&Network| match self {
            Word::Address(ip) | Word::Path(_, ip) => address.ip == *ip,
            Word::Network(network) => same_network(network.ip, address.ip, network.prefix),
            // Loopback by name stands for its global address, where it has one.
            Word::Name(_) | Word::Pattern(_) => {
                !interface.is_loopback || interface.is_of_host_alone() || is_global(&address.ip)
            }
        };
        interface.addresses.iter().filter(is_meant).copied().collect()
    }

    /// The addresses that peers learn: those that match, and the one that distinguishes the interface from others in its network.
    fn offered_of(&self, interface: &Interface) -> Vec<Network> {
        let mut offered = self.addresses_of(interface);
        if matches!(self, Word::Path(..)) {
            return offered;
        }
        let own = interface.addresses.iter().filter(|address| address.ip.is_ipv6() && is_link_local(&address.ip));
        let own: Vec<Network> = own.filter(|address| !offered.contains(address)).copied().collect();
        offered.extend(own);
        offered
    }
}

/// Reason for interfaces that match no word.
pub const NOT_NAMED: &str = "not named by FISHPLATE_RAILS";

/// Makes rails of the interfaces that `words` name, in their order, each with all its addresses, unless words name some of them.
/// Words that begin with `^` take out again. At least one rail must be up.
pub fn pick(mut rest: Vec<Interface>, words: &[String]) -> Result<Vec<Interface>, DiscoverError> {
    let (all, excluded) = (rest.clone(), exclusions(words));
    let mut chosen: Vec<Interface> = Vec::new();
    for text in words.iter().filter(|text| !text.starts_with('^')) {
        let word = Word::of(text);
        if !all.iter().any(|interface| word.means(interface)) {
            return Err(unknown(text, &word, &all));
        }
        let offers = |interface: &Interface| {
            let left = word.offered_of(interface).into_iter();
            left.filter(|address| !excluded.iter().any(|word| word.takes_out(interface, address))).collect::<Vec<_>>()
        };
        for interface in chosen.iter_mut().filter(|interface| interface.path.is_none() && word.means(interface)) {
            offer_more(interface, offers(interface));
        }
        // An interface without addresses is not taken out by these.
        let is_taken_out =
            |interface: &Interface| offers(interface).is_empty() && !word.offered_of(interface).is_empty();
        let is_meant = |interface: &Interface| word.means(interface) && !is_taken_out(interface);
        let meant = match word {
            // Further words may name other paths of the interface.
            Word::Path(_, ip) => all.iter().filter(|one| is_meant(one)).map(|one| path_of(one, ip)).collect::<Vec<_>>(),
            _ => rest.extract_if(.., |interface| is_meant(interface)).collect(),
        };
        let is_alone = matches!(word, Word::Name(_) | Word::Address(_) | Word::Path(..));
        for mut interface in meant {
            let word_offers = offers(&interface);
            match &mut interface.verdict {
                Verdict::Excluded(reason) if is_alone => {
                    return Err(DiscoverError::Unusable { wanted: text.clone(), reason: reason.clone() });
                }
                Verdict::Rail(offered) => *offered = word_offers,
                Verdict::Excluded(_) | Verdict::Reserve { .. } => {}
            }
            chosen.push(interface);
        }
    }
    offer_once(&mut chosen);
    check_usable(&chosen, words)?;
    rest.retain(|interface| !chosen.iter().any(|path| path.name == interface.name));
    for mut interface in rest {
        if interface.is_rail() {
            interface.verdict = Verdict::Excluded(NOT_NAMED.into());
        }
        chosen.push(interface);
    }
    Ok(chosen)
}

/// The automatic choice, without the interfaces and addresses that `words` exclude.
pub fn exclude(mut interfaces: Vec<Interface>, words: &[String]) -> Result<Vec<Interface>, DiscoverError> {
    let excluded = exclusions_all(words);
    for interface in &mut interfaces {
        let mut left = interface.offered().to_vec();
        left.retain(|address| !excluded.iter().any(|word| word.takes_out(interface, address)));
        let is_whole = |word: &Word| !matches!(word, Word::Path(..)) && word.means(interface);
        if excluded.iter().any(is_whole) || interface.is_rail() && left.is_empty() {
            interface.may_get_address = false;
            interface.verdict = Verdict::Excluded("excluded by FISHPLATE_RAILS".into());
        } else if let Verdict::Rail(offered) = &mut interface.verdict {
            *offered = left;
        }
    }
    choice::choose(&mut interfaces);
    if interfaces.iter().any(|interface| interface.class().is_some() || interface.may_get_address) {
        return Ok(interfaces);
    }
    Err(DiscoverError::Nothing { wanted: words.join(","), reasons: reasons(&interfaces) })
}

/// At least one must be up.
fn check_usable(chosen: &[Interface], words: &[String]) -> Result<(), DiscoverError> {
    if chosen.iter().any(|interface| interface.is_rail() && interface.is_up()) {
        return Ok(());
    }
    let Some(first) = chosen.first() else {
        return Err(DiscoverError::Nothing {
            wanted: words.join(","),
            reasons: "all that it names is excluded".into(),
        });
    };
    let carries_nothing = || format!("it {}", first.outage.unwrap_or("carries nothing"));
    let reason = first.reason().map_or_else(carries_nothing, str::to_string);
    Err(DiscoverError::Unusable { wanted: first.name.clone(), reason })
}

/// The interface as the path from one of its addresses.
fn path_of(interface: &Interface, ip: IpAddr) -> Interface {
    Interface { path: Some(ip), may_get_address: false, ..interface.clone() }
}

/// Removes each address from all rails but the first that is named by it.
fn offer_once(chosen: &mut Vec<Interface>) {
    let mut taken: Vec<(String, Network)> = Vec::new();
    for Interface { name, verdict, .. } in chosen.iter_mut() {
        if let Verdict::Rail(offered) = verdict {
            offered.retain(|address| !taken.contains(&(name.clone(), *address)));
            taken.extend(offered.iter().map(|address| (name.clone(), *address)));
        }
    }
    chosen.retain(|interface| !interface.is_rail() || !interface.offered().is_empty());
}

fn offer_more(interface: &mut Interface, addresses: Vec<Network>) {
    if let Verdict::Rail(offered) = &mut interface.verdict {
        let new: Vec<Network> = addresses.into_iter().filter(|address| !offered.contains(address)).collect();
        offered.extend(new);
    }
}

fn exclusions(words: &[String]) -> Vec<Word> {
    words.iter().filter_map(|word| word.strip_prefix('^')).map(Word::of).collect()
}

/// The words of a list that begins with `^`, which then applies to all of them.
fn exclusions_all(words: &[String]) -> Vec<Word> {
    words.iter().map(|word| Word::of(word.strip_prefix('^').unwrap_or(word))).collect()
}

fn unknown(text: &str, word: &Word, interfaces: &[Interface]) -> DiscoverError {
    let present: Vec<String> = match word {
        Word::Name(_) | Word::Pattern(_) => interfaces.iter().map(|interface| interface.name.clone()).collect(),
        Word::Address(_) | Word::Network(_) => {
            let all = interfaces.iter().flat_map(|interface| &interface.addresses);
            all.map(|address| format!("{}/{}", address.ip, address.prefix)).collect()
        }
        Word::Path(..) => paths_of(interfaces),
    };
    let near = match word {
        Word::Name(_) => near_name(text, interfaces),
        Word::Path(..) => nearest(text, &paths_of(interfaces)),
        _ => None,
    };
    let is_address = matches!(word, Word::Address(_) | Word::Network(_) | Word::Path(..));
    DiscoverError::Unknown {
        wanted: text.to_string(),
        how: word.how(),
        present: present.join(", "),
        near: near.map(|near| format!("\"{near}\"")),
        may_come: is_address && interfaces.iter().any(|interface| interface.may_get_address),
    }
}

/// `10.0.0.0/24`, `fd00::/64`.
fn network(text: &str) -> Option<Network> {
    let (ip, prefix) = text.split_once('/')?;
    let (ip, prefix): (IpAddr, u8) = (ip.parse().ok()?, prefix.parse().ok()?);
    (prefix <= if ip.is_ipv4() { 32 } else { 128 }).then_some(Network { ip, prefix })
}

#[cfg(test)]
mod tests {
    use super::super::tests::interface;
    use super::*;
    use crate::discover::survey;

    fn host() -> Vec<Interface> {
        vec![
            interface("eth0", &["enp4s0f0"], &["10.0.0.1/24", "fd00::1/64"]),
            interface("eth1", &["enp4s0f1", "rack"], &["10.0.1.1/24"]),
            interface("ib0", &[], &["10.0.0.9/24", "192.168.0.1/16"]),
        ]
    }

    fn picked(words: &str) -> Result<Vec<(String, usize)>, String> {
        let words: Vec<String> = words.split(',').map(str::to_string).collect();
        let picked = pick(host(), &words).map_err(|error| error.to_string())?;
        let rails = picked.into_iter().filter(Interface::is_rail);
        Ok(rails.map(|rail| (rail.rail_name(), rail.offered().len())).collect())
    }

    fn rails(words: &str) -> String {
        let rails = picked(words).unwrap();
        rails.iter().map(|(name, addresses)| format!("{name}:{addresses}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_altnames_patterns_addresses_and_networks_are_understood() {
        for (words, expected) in [
            ("ib0,eth0", "ib0:2 eth0:2"),
            ("rack", "eth1:1"),
            ("eth*", "eth0:2 eth1:1"),
            ("e?h1,*0", "eth1:1 eth0:2 ib0:2"),
            ("enp*", "eth0:2 eth1:1"),
            ("10.0.0.9", "ib0:1"),
            ("192.168.0.1,10.0.0.9", "ib0:2"),
            ("10.0.0.0/24", "eth0:1 ib0:1"),
            ("fd00::/16,10.0.1.77/24", "eth0:1 eth1:1"),
            ("eth*,ib0,^eth0", "eth1:1 ib0:2"),
            ("eth0,eth*", "eth0:2 eth1:1"),
            ("ib0/192.168.0.1,eth1,ib0/10.0.0.9", "ib0/192.168.0.1:1 eth1:1 ib0/10.0.0.9:1"),
            ("rack/10.0.1.1,eth0/fd00::1", "eth1/10.0.1.1:1 eth0/fd00::1:1"),
            ("ib0/10.0.0.9,ib0,ib0", "ib0/10.0.0.9:1 ib0:1"),
            ("ib0,ib0/10.0.0.9", "ib0:2"),
            ("eth0,ib0,^ib0/10.0.0.9", "eth0:2 ib0:1"),
            ("eth*,^eth1/10.0.1.1", "eth0:2"),
        ] {
            assert_eq!(rails(words), expected, "{words}");
        }
    }

    #[test]
    fn a_typing_mistake_is_reported_with_similar_names() {
        for (words, texts) in [
            ("eth2", &["is called \"eth2\"; there are: eth0, eth1, ib0", "did you mean \"eth0\""][..]),
            ("enp4sof1", &["did you mean \"enp4s0f1\""]),
            ("eth", &["did you mean \"eth*\""]),
            ("wlan*", &["is called as in \"wlan*\"; there are: eth0"]),
            ("10.9.0.0/24", &["has an address in \"10.9.0.0/24\"; there are: 10.0.0.1/24, fd00::1/64, "]),
            ("10.0.0.3", &["has the address \"10.0.0.3\""]),
            ("eth0,^eth*", &["leaves no interface"]),
            ("ib0/10.0.0.8", &["has the path \"ib0/10.0.0.8\"; there are: eth0/10.0.0.1, ", "mean \"ib0/10.0.0.9\"?"]),
            ("eth9/10.0.0.1", &["has the path", "did you mean \"eth0/10.0.0.1\"?"]),
            ("ib0@192.168.0.1", &["did you mean \"ib0/192.168.0.1\"?"]),
            ("ib0:192.168.0.1", &["did you mean \"ib0/192.168.0.1\"?"]),
            ("eth1/10.0.1.1,^eth1", &["leaves no interface"]),
        ] {
            let error = picked(words).unwrap_err();
            texts.iter().for_each(|text| assert!(error.contains(text), "{words}: {error}"));
        }
        assert!(!picked("x").unwrap_err().contains("mean"), "that is like nothing");
    }

    #[test]
    fn one_that_is_named_and_has_no_address_is_an_error() {
        let verdict = Verdict::Excluded("it has no address".into());
        let bare = Interface { verdict, ..interface("eth7", &[], &[]) };
        let of = |words: [&str; 2]| pick([host(), vec![bare.clone()]].concat(), &words.map(str::to_string));
        let error = of(["eth0", "eth7"]).unwrap_err().to_string();
        assert!(error.contains("interface \"eth7\" cannot be a rail: it has no address"), "{error}");
        assert_eq!(
            of(["eth0", "eth*"]).unwrap().iter().filter(|one| one.is_rail()).count(),
            2,
            "a pattern names what there is"
        );
    }

    #[test]
    fn paths_are_excluded_one_by_one() {
        let excluded = |words: &str| {
            let words: Vec<String> = words.split(',').map(str::to_string).collect();
            let rails = exclude(host(), &words).unwrap().into_iter().filter(Interface::is_rail);
            rails.map(|rail| format!("{}:{}", rail.name, rail.offered().len())).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(excluded("^ib0/10.0.0.9"), "eth0:2 eth1:1 ib0:1");
        assert_eq!(excluded("^eth1/10.0.1.1,ib0"), "eth0:2");
        assert_eq!(excluded("^eth1/10.0.0.1"), "eth0:2 eth1:1 ib0:2", "that is no address of it");
    }

    #[test]
    fn loopback_can_be_named_by_name_address_and_network() {
        for wanted in ["lo", "127.0.0.1", "127.0.0.0/8", "l?"] {
            let interfaces = survey(&[wanted.to_string()]).unwrap();
            assert_eq!(interfaces[0].offered()[0].ip, "127.0.0.1".parse::<IpAddr>().unwrap(), "{wanted}");
            assert!(interfaces[1..].iter().all(|other| !other.is_rail()), "{wanted}");
        }
    }

    #[test]
    fn words_that_mean_nothing_are_known() {
        for word in ["", "^", "a b", "a/b", "10.0.0.0/33", "^^eth0", "10.0.0.0/24/7", "/10.0.0.5"] {
            assert!(!is_word(word), "{word}");
        }
        for word in
            ["eth0", "^docker0", "10.0.0.0/24", "^fd00::/8", "eth*", "fe80::1", "eth0/10.0.0.5", "^eth0/fd00::1"]
        {
            assert!(is_word(word), "{word}");
        }
    }
}
