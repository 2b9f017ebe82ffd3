//! Which of a libfabric's providers are to be rails: words of FISHPLATE_RAILS such as `verbs:mlx5_0`.

use std::net::IpAddr;

/// A domain of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The provider's name.
    pub provider: String,
    /// The domain's.
    pub domain: String,
}

impl Wanted {
    /// What a word means. `None`: it is about network interfaces.
    pub fn of(word: &str) -> Option<Wanted> {
        if word.parse::<IpAddr>().is_ok() || word.contains('/') || word.starts_with('^') {
            return None;
        }
        let (provider, domain) = word.rsplit_once(':')?;
        let is_meant = !provider.is_empty() && !domain.is_empty();
        is_meant.then(|| Wanted { provider: provider.to_string(), domain: domain.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_provider_are_told_from_interfaces_and_addresses() {
        for word in ["eth0", "10.0.0.1", "fd00::1", "fd00::/64", "10.0.0.0/8", "^eth0", "eth*", ":eth0", "tcp:"] {
            assert_eq!(Wanted::of(word), None, "{word}");
        }
        for (word, provider, domain) in
            [("verbs:mlx5_0", "verbs", "mlx5_0"), ("udp;ofi_rxd:eth0", "udp;ofi_rxd", "eth0")]
        {
            let wanted = Wanted { provider: provider.to_string(), domain: domain.to_string() };
            assert_eq!(Wanted::of(word), Some(wanted), "{word}");
        }
    }
}
