use std::net::IpAddr;

use reqwest::Url;

use super::private;

/// Proxies, as the environment's `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` define
/// them, in upper or lower case.
///
/// An entry of `NO_PROXY` is `*`, an address, a network (`10.0.0.0/8`), a domain with its
/// subdomains (`example.com`), or only the subdomains (`.example.com`); a port may follow. This
/// host itself is never reached through a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Proxy for `https://` URLs.
    pub https: Option<String>,
    /// Proxy for `http://` URLs.
    pub http: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub exceptions: String,
}

impl Proxies {
    /// Returns the proxies of the environment.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            let filled = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
            filled(name).or_else(|| filled(&name.to_lowercase()))
        };
        let any = either("ALL_PROXY");
        // A CGI program gets the header `Proxy` of a request under that name.
        let is_cgi = variable("REQUEST_METHOD").is_some();
        Self {
            https: either("HTTPS_PROXY").or_else(|| any.clone()),
            http: if is_cgi {
                None
            } else {
                either("HTTP_PROXY").or(any)
            },
            exceptions: either("NO_PROXY").unwrap_or_default(),
        }
    }

    /// Returns this proxy for all URLs; no proxies if it is empty.
    pub(super) fn only(proxy: &str) -> Self {
        let proxy = Some(proxy.to_owned()).filter(|proxy| !proxy.is_empty());
        Self {
            https: proxy.clone(),
            http: proxy,
            exceptions: String::new(),
        }
    }

    /// Returns the proxy for `url`; `None` if there is none.
    pub(super) fn choose(&self, url: &Url) -> Option<Url> {
        let proxy = match url.scheme() {
            "https" => self.https.as_deref(),
            _ => self.http.as_deref(),
        };
        let proxy = parse(proxy?)?;
        let host = url.host_str()?.trim_end_matches('.').to_lowercase();
        let address = private::literal(url);
        let is_this_host =
            host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let port = url.port_or_known_default().unwrap_or_default();
        let is_exception = self
            .exceptions
            .split(',')
            .any(|entry| matches(&entry.trim().to_lowercase(), &host, address, port));
        (!is_this_host && !is_exception).then_some(proxy)
    }

    /// Returns the hosts of the proxies.
    pub(super) fn hosts(&self) -> Vec<String> {
        let both = [self.https.as_deref(), self.http.as_deref()];
        let urls = both.into_iter().flatten().filter_map(parse);
        urls.filter_map(|url| url.host_str().map(str::to_owned))
            .collect()
    }

    /// Returns the first proxy that is not a valid address, without its password; `None` if all are
    /// valid.
    pub(super) fn broken(&self) -> Option<String> {
        let both = [self.https.as_deref(), self.http.as_deref()];
        let broken = both
            .into_iter()
            .flatten()
            .find(|text| parse(text).is_none())?;
        Some(broken.rsplit('@').next().unwrap_or_default().to_owned())
    }
}

/// Parses `[http://][USER:PASSWORD@]HOST[:PORT]`; `None` if it is not valid.
fn parse(text: &str) -> Option<Url> {
    let text = text.trim();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

fn matches(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry.is_empty() {
        return false;
    }
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/') {
        let network = network.parse().ok().zip(bits.parse().ok());
        return address
            .zip(network)
            .is_some_and(|(address, (network, bits))| is_within(address, network, bits));
    }
    let (name, wanted_port) = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            (name, digits.parse::<u16>().ok())
        }
        _ => (entry, None),
    };
    if wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(wanted) = name.parse::<IpAddr>() {
        return address == Some(wanted);
    }
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        Some(_) => host.ends_with(name),
        None => host == name || host.ends_with(&format!(".{name}")),
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) if bits <= 32 => {
            let apart = a.to_bits() ^ n.to_bits();
            apart.checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(n)) if bits <= 128 => {
            let apart = a.to_bits() ^ n.to_bits();
            apart.checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_chosen_as_docker_chooses_them() {
        let proxies = Proxies {
            https: Some("http://u:p@proxy:3128".to_owned()),
            http: Some("plain:8080".to_owned()),
            exceptions: "no.io, .below.io,*.star.io,10.0.0.0/8,192.168.1.1,port.io:5000,[fd00::1],\
                fd01::/16"
                .to_owned(),
        };
        for (url, proxy) in [
            ("https://r.io/v2/", Some("http://u:p@proxy:3128/")),
            ("http://r.io/v2/", Some("http://plain:8080/")),
            ("https://no.io/", None),
            ("https://a.NO.io/", None),
            ("https://yesno.io/", Some("http://u:p@proxy:3128/")),
            ("https://a.below.io/", None),
            ("https://below.io/", Some("http://u:p@proxy:3128/")),
            ("https://a.star.io/", None),
            ("https://10.9.8.7/", None),
            ("https://11.9.8.7/", Some("http://u:p@proxy:3128/")),
            ("http://192.168.1.1:5000/", None),
            ("https://port.io:5000/", None),
            ("https://port.io/", Some("http://u:p@proxy:3128/")),
            ("https://[fd00::1]/", None),
            ("https://[fd01::7]/", None),
            ("http://localhost:5000/", None),
            ("http://127.9.9.9:5000/", None),
            ("http://[::1]:5000/", None),
        ] {
            let chosen = proxies.choose(&Url::parse(url).expect(url));
            assert_eq!(chosen.as_ref().map(Url::as_str), proxy, "{url}");
        }
        let everything = Proxies {
            exceptions: "*".to_owned(),
            ..proxies
        };
        assert_eq!(
            everything.choose(&Url::parse("https://r.io").expect("a url")),
            None
        );
    }

    #[test]
    fn the_environment_is_read_in_either_case() {
        let from = |variables: &[(&str, &str)]| {
            Proxies::from_variables(|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let found = from(&[("https_proxy", "a"), ("HTTP_PROXY", "b"), ("no_proxy", "c")]);
        assert_eq!(
            (found.https.as_deref(), found.http.as_deref()),
            (Some("a"), Some("b"))
        );
        assert_eq!(found.exceptions, "c");
        let found = from(&[
            ("ALL_PROXY", "a"),
            ("HTTP_PROXY", ""),
            ("REQUEST_METHOD", "GET"),
        ]);
        assert_eq!(
            (found.https.as_deref(), found.http.as_deref()),
            (Some("a"), None)
        );
        let socks = Proxies::only("socks5://user:secret@x:1");
        assert_eq!(socks.broken().as_deref(), Some("x:1"));
        assert_eq!(Proxies::only(""), Proxies::default());
    }
}
