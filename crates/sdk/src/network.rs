use std::net::{IpAddr, SocketAddr};

use msb_runtime::network::{DefaultPolicy, NetworkRules, Publish, Settings};
pub use msb_runtime::network::{
    Host, InvalidPort, NetworkLogDetail, Port, Protocol as TransportProtocol,
};
use msb_secrets::Secret;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;

/// The most ports that a sandbox can publish: each uses a descriptor of its network process.
const PUBLISHED_MAX: usize = 1024;
/// The port of DNS servers.
const DNS_PORT: u16 = 53;

/// The destinations that a sandbox reaches.
///
/// ```
/// use msb_sdk::Network;
///
/// let nothing = Network::none();
/// let packages = Network::listed().allow("*.pypi.org").allow("files.pythonhosted.org");
/// # let _ = (nothing, packages);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Network {
    /// The destinations that the sandbox reaches without a rule.
    pub mode: NetworkMode,
    /// Rules that allow destinations: addresses, ranges and names, each with or without `:port`, and in the
    /// listed mode requests, as `https://HOST[:PORT][/PATH][:METHODS]`.
    pub allow: Vec<String>,
    /// Rules that deny destinations; they win over `allow`.
    pub deny: Vec<String>,
    /// Resolvers to ask instead of the host's, as `IP` or `IP:PORT`.
    pub dns: Vec<String>,
    /// True to ask about destinations that no rule denies and the mode does: see [`Sandbox::on_ask`](crate::Sandbox::on_ask).
    pub ask: bool,
    /// The proxy for TCP connections that leave the host: `http://HOST:PORT`, `socks5h://HOST:PORT`, `socks5://HOST:PORT`,
    /// or `env` for that of the variables `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` at each start.
    pub upstream_proxy: Option<String>,
    /// The events that the log of the network has.
    pub log: NetworkLogDetail,
}

/// The destinations that a sandbox reaches without a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NetworkMode {
    /// Everything but private, link-local and the host's own addresses.
    #[default]
    Outbound,
    /// Only what `allow` says.
    Listed,
    /// Nothing: the sandbox has no network device.
    None,
}

impl Network {
    fn new(mode: NetworkMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Returns a network that reaches everything but private, link-local and the host's own
    /// addresses. This is the default.
    pub fn outbound() -> Self {
        Self::new(NetworkMode::Outbound)
    }

    /// Returns a network that reaches only what [`allow`](Self::allow) says.
    pub fn listed() -> Self {
        Self::new(NetworkMode::Listed)
    }

    /// Returns no network: the sandbox has no network device.
    pub fn none() -> Self {
        Self::new(NetworkMode::None)
    }

    /// Allows destinations, as `10.0.0.0/8`, `192.168.1.7:5432`, `example.com` or
    /// `*.example.com:443`; and in the listed mode requests, as `https://api.example.com/v1/*:GET`.
    #[must_use]
    pub fn allow(mut self, rule: impl Into<String>) -> Self {
        self.allow.push(rule.into());
        self
    }

    /// Denies destinations; this wins over [`allow`](Self::allow).
    #[must_use]
    pub fn deny(mut self, rule: impl Into<String>) -> Self {
        self.deny.push(rule.into());
        self
    }

    /// Adds a resolver to ask instead of the host's, as `IP` or `IP:PORT`.
    #[must_use]
    pub fn dns(mut self, resolver: impl Into<String>) -> Self {
        self.dns.push(resolver.into());
        self
    }

    /// Asks about destinations that no rule denies and the mode does.
    #[must_use]
    pub const fn ask(mut self) -> Self {
        self.ask = true;
        self
    }

    /// Sets the proxy for TCP connections that leave the host, such as `socks5h://HOST:PORT`, or `env`.
    #[must_use]
    pub fn upstream_proxy(mut self, proxy: impl Into<String>) -> Self {
        self.upstream_proxy = Some(proxy.into());
        self
    }

    /// Sets the events that the log of the network has.
    #[must_use]
    pub const fn log(mut self, detail: NetworkLogDetail) -> Self {
        self.log = detail;
        self
    }

    /// Returns the settings for an image that exposes these ports, all of which are published with
    /// `publish_all`, and for these secrets. `None` if the sandbox has no network.
    pub(crate) fn settings(
        &self,
        ports: &[Port],
        publish_all: bool,
        exposed_ports: &[String],
        secrets: &[Secret],
    ) -> Result<Option<Settings>, Error> {
        if self.mode == NetworkMode::None {
            return self.nothing(ports, publish_all, secrets);
        }
        let mut publish: Vec<Publish> = ports.iter().map(|port| port.publish()).collect();
        if publish_all {
            // A port of another protocol cannot be published; it is skipped.
            for port in exposed_ports
                .iter()
                .filter_map(|port| Publish::from_guest_port(port))
            {
                if !leads_to(&publish, &port) {
                    publish.push(port);
                }
            }
        }
        let count = publish.len();
        if count > PUBLISHED_MAX {
            let message =
                format!("{count} published ports are too many, the limit is {PUBLISHED_MAX}");
            return Err(Error::invalid(message));
        }
        let mut settings = Settings {
            publish,
            resolvers: self.resolvers()?,
            secrets: secrets.to_vec(),
            asks: self.ask,
            upstream_proxy: self.upstream_proxy.as_deref().map(str::parse).transpose()?,
            log: self.log,
            ..Settings::default()
        };
        settings.set_rules(self.rules()?);
        Ok(Some(settings))
    }

    /// Returns the rules, which hold together.
    pub(crate) fn rules(&self) -> Result<NetworkRules, Error> {
        let reach = match self.mode {
            NetworkMode::Listed => DefaultPolicy::Listed,
            NetworkMode::Outbound | NetworkMode::None => DefaultPolicy::Outbound,
        };
        Ok(NetworkRules::parse(reach, &self.allow, &self.deny)?)
    }

    fn resolvers(&self) -> Result<Vec<SocketAddr>, Error> {
        self.dns.iter().map(|text| resolver(text)).collect()
    }

    fn nothing(
        &self,
        ports: &[Port],
        publish_all: bool,
        secrets: &[Secret],
    ) -> Result<Option<Settings>, Error> {
        if let Some(secret) = secrets.first() {
            return Err(Error::invalid(format!(
                "the secret {} cannot be given with --network none: no request leaves the sandbox",
                secret.name
            )));
        }
        let is_plain = ports.is_empty()
            && !publish_all
            && self.allow.is_empty()
            && self.deny.is_empty()
            && self.dns.is_empty()
            && !self.ask
            && self.upstream_proxy.is_none();
        if is_plain {
            return Ok(None);
        }
        Err(Error::invalid(
            "-p, -P, --net-allow, --net-deny, --net-ask, --dns and --upstream-proxy cannot be given with --network none",
        ))
    }
}

fn resolver(text: &str) -> Result<SocketAddr, Error> {
    let address = text.parse::<IpAddr>();
    let address = address.map(|address| SocketAddr::new(address, DNS_PORT));
    address.or_else(|_| text.parse()).map_err(|_| {
        let text = msb_client::printable(text);
        Error::invalid(format!(
            "'{text}' is not an IP address, with or without :PORT"
        ))
    })
}

/// Returns true if one of `published` has the same guest port and protocol as `other`.
fn leads_to(published: &[Publish], other: &Publish) -> bool {
    let end = |publish: &Publish| (publish.guest_port, publish.protocol);
    published.iter().any(|publish| end(publish) == end(other))
}

/// The forms of a network in JSON.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a network is outbound, listed or none, or an object with mode, allow, deny, dns, ask, upstream_proxy and log"
)]
enum NetworkForm {
    Mode(NetworkMode),
    Whole(WholeNetwork),
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct WholeNetwork {
    mode: NetworkMode,
    allow: Vec<String>,
    deny: Vec<String>,
    dns: Vec<String>,
    ask: bool,
    upstream_proxy: Option<String>,
    log: NetworkLogDetail,
}

/// Reads an object, or the mode alone: `"none"`.
impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match NetworkForm::deserialize(deserializer)? {
            NetworkForm::Mode(mode) => Self::new(mode),
            NetworkForm::Whole(whole) => Self {
                mode: whole.mode,
                allow: whole.allow,
                deny: whole.deny,
                dns: whole.dns,
                ask: whole.ask,
                upstream_proxy: whole.upstream_proxy,
                log: whole.log,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposed_ports_are_published_once_and_only_if_asked_for() {
        let exposed = ["80/tcp", "53/udp", "9/sctp"].map(str::to_owned);
        let published = |ports: &[Port], all| {
            let settings = Network::outbound().settings(ports, all, &exposed, &[]);
            let settings = settings.expect("good").expect("a network");
            let texts = settings.publish.iter().map(ToString::to_string);
            texts.collect::<Vec<_>>()
        };
        assert!(published(&[], false).is_empty());
        assert_eq!(
            published(&[Port::new(80, Host::port(8080))], true),
            ["127.0.0.1:8080:80/tcp", "127.0.0.1:0:53/udp"]
        );
    }

    #[test]
    fn rules_are_checked() {
        let settings = |network: Network| network.settings(&[], false, &[], &[]);
        assert!(settings(Network::none()).expect("good").is_none());
        assert!(settings(Network::none().allow("a.b")).is_err());
        assert!(settings(Network::outbound().deny("a.b:80")).is_err());
        assert!(settings(Network::outbound().dns("no address")).is_err());
        let proxied = |proxy: &str| settings(Network::outbound().upstream_proxy(proxy));
        assert!(proxied("env").is_ok() && proxied("socks5h://proxy:1080").is_ok());
        let refused = proxied("http://u:hunter2@proxy:3128").expect_err("a password");
        assert!(!refused.message().contains("hunter2"), "{refused}");
        assert!(settings(Network::none().upstream_proxy("env")).is_err());
        let many = vec![Port::new(1, Host::any()); PUBLISHED_MAX + 1];
        assert!(
            Network::outbound()
                .settings(&many, false, &[], &[])
                .is_err()
        );
    }

    #[test]
    fn requests_are_rules_of_the_listed_mode_and_secrets_need_a_network() {
        let request = "https://api.example.com/v1/*:GET";
        let listed = Network::listed().allow(request).allow("a.b:22");
        let settings = listed.settings(&[], false, &[], &[]).expect("good");
        let settings = settings.expect("a network");
        assert_eq!((settings.requests.len(), settings.allow.len()), (1, 1));
        let refused = Network::outbound()
            .allow(request)
            .settings(&[], false, &[], &[]);
        let refused = refused.expect_err("another mode");
        assert!(refused.message().contains("--network listed"), "{refused}");
        let secrets: [Secret; 1] = ["K@api.example.com".parse().expect("a secret")];
        let refused = Network::none().settings(&[], false, &[], &secrets);
        let refused = refused.expect_err("no network");
        assert!(refused.message().contains("secret K"), "{refused}");
    }
}
