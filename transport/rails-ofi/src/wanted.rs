//! The words of FISHPLATE_RAILS that name domains of libfabric providers, such as `verbs:mlx5_0`.

use fishplate_link_core::matches;
use std::fmt;
use std::net::IpAddr;

pub use crate::sys::EndpointKind;

/// A domain of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The provider's name.
    pub provider: String,
    /// Type of endpoints; `None`: the best one that there is.
    pub kind: Option<EndpointKind>,
    /// The domain's name.
    pub domain: String,
}

impl Wanted {
    /// The domain that a word names. `None`: it is about network interfaces.
    pub fn of(word: &str) -> Option<Wanted> {
        let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
        if is_address(word) || word.starts_with('^') {
            return None;
        }
        let (provider, domain) = word.rsplit_once(':').filter(|(_, domain)| !is_address(domain))?;
        let (provider, kind) = match provider.rsplit_once('/') {
            Some((provider, "msg")) => (provider, Some(EndpointKind::Connected)),
            Some((provider, "rdm")) => (provider, Some(EndpointKind::Datagram)),
            _ => (provider, None),
        };
        let is_meant = !provider.is_empty() && !domain.is_empty() && !provider.contains('/') && !domain.contains('/');
        is_meant.then(|| Wanted { provider: provider.to_string(), kind, domain: domain.to_string() })
    }
}

/// The domains that words name. `None`: they name none, so that the automatic choice applies, without excluded domains.
pub fn named(words: &[String]) -> Option<Vec<Wanted>> {
    let leaves_choice = words.first().is_none_or(|first| first.starts_with('^'));
    (!leaves_choice).then(|| words.iter().filter_map(|word| Wanted::of(word)).collect())
}

/// Whether words name network interfaces.
pub fn names_interfaces(words: &[String]) -> bool {
    words.first().is_some_and(|first| !first.starts_with('^')) && words.iter().any(|word| Wanted::of(word).is_none())
}

/// Whether words that begin with `^` exclude a domain.
pub(crate) fn is_excluded(words: &[String], wanted: &Wanted) -> bool {
    let name = wanted.to_string();
    words.iter().any(|word| matches(word.trim_start_matches('^'), &name))
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Some(EndpointKind::Connected) => "/msg",
            Some(EndpointKind::Datagram) => "/rdm",
            None => "",
        };
        write!(f, "{}{kind}:{}", self.provider, self.domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_provider_are_distinguished_from_interfaces_and_addresses() {
        for word in [
            "eth0",
            "10.0.0.1",
            "fd00::1",
            "fd00::/64",
            "10.0.0.0/8",
            "^eth0",
            "eth*",
            ":eth0",
            "tcp:",
            "tcp/dgram:eth0",
            "eth0/fd00::1",
            "eth0:10.0.0.1",
        ] {
            assert_eq!(Wanted::of(word), None, "{word}");
        }
        for (word, provider, kind, domain) in [
            ("verbs:mlx5_0", "verbs", None, "mlx5_0"),
            ("verbs/rdm:mlx5_0", "verbs", Some(EndpointKind::Datagram), "mlx5_0"),
            ("tcp/msg:eth0", "tcp", Some(EndpointKind::Connected), "eth0"),
            ("udp;ofi_rxd:eth0", "udp;ofi_rxd", None, "eth0"),
        ] {
            let wanted = Wanted { provider: provider.to_string(), kind, domain: domain.to_string() };
            assert_eq!(wanted.to_string(), word);
            assert_eq!(Wanted::of(word), Some(wanted), "{word}");
        }
    }

    #[test]
    fn words_that_exclude_leave_the_choice() {
        let words = |text: &str| text.split_terminator(',').map(str::to_string).collect::<Vec<_>>();
        assert_eq!(named(&words("")), None);
        assert_eq!(named(&words("^eth0,tcp:eth1")), None);
        assert_eq!(named(&words("eth0")), Some(Vec::new()));
        assert_eq!(named(&words("eth0,tcp:eth1,^eth2")).unwrap().len(), 1);
        assert!(names_interfaces(&words("eth0,tcp:eth1")));
        for text in ["", "tcp:eth1", "^eth0"] {
            assert!(!names_interfaces(&words(text)), "{text}");
        }
    }
}
