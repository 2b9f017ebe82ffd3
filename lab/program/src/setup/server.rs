//! Diagnoses failed downloads: whether the server, or the proxy in front of it, is reachable.

use std::env;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time limit for the response of a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Variables that name a proxy for a scheme; curl, pip and apt read these.
fn proxy_variables(scheme: &str) -> [String; 4] {
    let upper = scheme.to_uppercase();
    [format!("{scheme}_proxy"), format!("{upper}_PROXY"), "all_proxy".into(), "ALL_PROXY".into()]
}

/// Short description of the state of a URL's server.
pub fn reachability(url: &str) -> String {
    let (scheme, server) = parts(url, "https");
    let proxy = proxy_variables(scheme).iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
    match proxy {
        Some(proxy) => format!("by the proxy {}", answers(parts(&proxy, "http").1)),
        None => answers(server),
    }
}

/// Scheme, and host and port of a URL.
fn parts<'a>(url: &'a str, scheme: &'a str) -> (&'a str, (&'a str, u16)) {
    let (scheme, rest) = url.split_once("://").unwrap_or((scheme, url));
    let authority = rest.split('/').next().unwrap_or(rest);
    let place = authority.rsplit('@').next().unwrap_or(authority);
    let default = if scheme == "https" { 443 } else { 80 };
    let with_port = place.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    (scheme, with_port.unwrap_or((place, default)))
}

fn answers((host, port): (&str, u16)) -> String {
    let bare = host.trim_matches(['[', ']']);
    let addresses: Vec<_> = match (bare, port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => return format!("{host} has no address here: {error}"),
    };
    let mut why = String::from("it has none");
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return format!("{host} answers at port {port}"),
            Err(error) => why = error.to_string(),
        }
    }
    format!("{host} does not answer at port {port}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn servers_are_named_by_urls() {
        for (url, is) in [
            ("https://pypi.org/simple", ("https", ("pypi.org", 443))),
            ("http://deb.debian.org/debian/pool/x.deb", ("http", ("deb.debian.org", 80))),
            ("http://me:secret@mirror:8080/simple", ("http", ("mirror", 8080))),
            ("proxy:3128", ("https", ("proxy", 3128))),
            ("http://[::1]:7/", ("http", ("[::1]", 7))),
        ] {
            assert_eq!(parts(url, "https"), is, "{url}");
        }
    }

    #[test]
    fn the_state_of_a_server_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(answers(("127.0.0.1", port)), format!("127.0.0.1 answers at port {port}"));
        drop(listener);
        assert!(answers(("127.0.0.1", port)).starts_with(&format!("127.0.0.1 does not answer at port {port}: Conn")));
        assert!(answers(("no such host", 80)).starts_with("no such host has no address here: "));
    }
}
