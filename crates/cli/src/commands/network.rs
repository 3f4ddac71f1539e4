use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context as _;
use msb_runtime::network::{InvalidPublish, Publish, Rule};
use msb_sdk::{Error, HttpsDestination, Network, NetworkLogDetail, Port, Secret};

use msb_terminal::failure::Outcome;

/// The port of DNS servers.
const DNS_PORT: u16 = 53;

// Arguments of `msb __network`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the sandbox
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    msb_machine::serve_network(&arguments.directory)
        .with_context(|| format!("sandbox {}", arguments.directory.display()))?;
    Ok(0)
}

// The options of a sandbox's network, outbound and inbound.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArguments {
    /// Allowed destinations
    #[arg(long, alias = "net", value_enum, default_value_t)]
    network: Mode,
    /// Publish a port of the sandbox, on 127.0.0.1 or on IP
    ///
    /// PORT and HOST may be ranges, and /tcp or /udp may follow. Without HOST the host chooses a free port,
    /// which msb port prints. IP is an address of the host.
    #[arg(short, long, value_name = "[[IP:]HOST:]PORT", value_parser = parse_published)]
    publish: Vec<Published>,
    /// Publish each exposed port on a free port of the host
    #[arg(short = 'P', long)]
    publish_all: bool,
    /// Allow an address or name, such as *.example.com:443
    ///
    /// Other forms are 10.0.0.0/8, 192.168.1.7:5432 and example.com. A rule can also allow private
    /// addresses. With --network listed, https://HOST/PATH*:GET,HEAD allows these requests alone.
    #[arg(long, value_name = "RULE", value_parser = parse_allowed)]
    net_allow: Vec<String>,
    /// Deny an address or name
    ///
    /// It takes precedence over --net-allow.
    #[arg(long, value_name = "RULE")]
    net_deny: Vec<Rule>,
    /// Ask about destinations that no rule denies
    ///
    /// The question is shown at msb run's terminal and in msb asks. A connection or DNS query that would be refused waits up to 30 seconds for the answer: once, always, which keeps a
    /// rule, or no. It is refused at once if no terminal, msb asks or program listens.
    #[arg(long)]
    net_ask: bool,
    /// DNS resolver to use instead of the host's
    #[arg(long, value_name = "IP[:PORT]", value_parser = parse_resolver)]
    dns: Vec<SocketAddr>,
    /// Proxy for connections that leave the host
    ///
    /// A URL is http://HOST:PORT, socks5h://HOST:PORT, or socks5://HOST:PORT, which is told addresses and no names. With env, each start
    /// reads HTTPS_PROXY, ALL_PROXY and NO_PROXY of this host, which may have a user and a password. Rules decide before,
    /// connections to this host are direct, and UDP is refused except for DNS.
    #[arg(long, value_name = "URL|env")]
    upstream_proxy: Option<String>,
    /// Events in the network's log: off, flows or http [default: http]
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    network_log: LogDetail,
    /// Secret for requests to HOST, which the sandbox cannot read
    ///
    /// The value is that of the variable NAME of this host. In the sandbox, NAME is a placeholder; the network puts the
    /// value into the headers of requests to HOST, which is allowed. The long form is
    /// name=NAME,to=HOST[:PORT][/PATH*][:METHODS],from=env:NAME|file:PATH|cmd:COMMAND, with more to= and
    /// every=TIME, in=header:NAME|query:NAME|basic, as=PREFIX and file=PATH.
    #[arg(long, value_name = "NAME@HOST[,...]")]
    secret: Vec<String>,
    /// Let the sandbox trust the certificate authorities of this host
    #[arg(long)]
    host_ca: bool,
}

/// The destinations that a sandbox reaches without a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Everything except private and link-local addresses and those of the host
    #[default]
    Outbound,
    /// Only the destinations of --net-allow
    Listed,
    /// Nothing: the sandbox has no network device
    None,
}

/// The events in the log of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum LogDetail {
    /// None
    Off,
    /// Connections, refusals, DNS queries and names of TLS
    Flows,
    /// The same, and requests where TLS is ended
    #[default]
    Http,
}

impl NetworkArguments {
    /// Returns the destinations that the sandbox reaches.
    pub(crate) fn network(&self) -> Network {
        let mut network = match self.network {
            Mode::Outbound => Network::outbound(),
            Mode::Listed => Network::listed(),
            Mode::None => Network::none(),
        };
        network.allow.clone_from(&self.net_allow);
        network.deny = self.net_deny.iter().map(ToString::to_string).collect();
        network.ask = self.net_ask;
        network.dns = self.dns.iter().map(ToString::to_string).collect();
        // It is parsed with the rest, because a refused option would be printed, and may have a password.
        network.upstream_proxy.clone_from(&self.upstream_proxy);
        network.log(match self.network_log {
            LogDetail::Off => NetworkLogDetail::Off,
            LogDetail::Flows => NetworkLogDetail::Flows,
            LogDetail::Http => NetworkLogDetail::Http,
        })
    }

    /// Returns the secrets. They are parsed here because a refused option would be printed, and may have a value.
    pub(crate) fn secrets(&self) -> Result<Vec<Secret>, Error> {
        self.secret.iter().map(|text| Ok(text.parse()?)).collect()
    }

    /// Returns true if ports are to be published of a sandbox without a network. As with docker, they
    /// are not.
    pub(crate) fn publishes_nothing(&self) -> bool {
        self.network == Mode::None && (self.publish_all || !self.publish.is_empty())
    }

    /// Returns the published ports.
    pub(crate) fn ports(&self) -> Vec<Port> {
        if self.publishes_nothing() {
            return Vec::new();
        }
        let all = self.publish.iter().flat_map(|ports| ports.0.clone());
        all.map(Port::from).collect()
    }

    /// Returns true if the image's exposed ports are published.
    pub(crate) fn publishes_all(&self) -> bool {
        self.publish_all && !self.publishes_nothing()
    }

    /// Returns true if programs trust the host's certificate authorities.
    pub(crate) const fn trusts_host(&self) -> bool {
        self.host_ca
    }
}

/// The ports that one `-p` publishes.
#[derive(Debug, Clone)]
struct Published(Vec<Publish>);

fn parse_published(text: &str) -> Result<Published, InvalidPublish> {
    Publish::parse_all(text).map(Published)
}

fn parse_allowed(text: &str) -> Result<String, Error> {
    if text.starts_with("https://") {
        let destination: HttpsDestination = text.parse()?;
        return Ok(format!("https://{destination}"));
    }
    Ok(text.parse::<Rule>()?.to_string())
}

fn parse_resolver(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<IpAddr>();
    let address = address.map(|address| SocketAddr::new(address, DNS_PORT));
    address
        .or_else(|_| text.parse())
        .map_err(|_| format!("'{text}' is not an IP address, with or without :PORT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        network: NetworkArguments,
    }

    #[test]
    fn options_become_a_network_and_ports() {
        let words = [
            "msb",
            "--network",
            "listed",
            "--net-allow",
            "a.b:443",
            "--dns",
            "1.1.1.1",
        ];
        let words = words.into_iter().chain(["-p", "8000-8001:80-81"]);
        let request = "https://API.example.com/v1/*:GET";
        let words = words.chain(["--net-allow", request, "--secret", "K@api.example.com"]);
        let words = words.chain(["--upstream-proxy", "env", "--network-log=flows"]);
        let line = <Line as clap::Parser>::try_parse_from(words).unwrap();
        let network = line.network.network();
        assert_eq!(network.upstream_proxy.as_deref(), Some("env"));
        assert_eq!(network.log, NetworkLogDetail::Flows);
        assert_eq!(
            (network.allow, network.dns),
            (
                vec![
                    "a.b:443".to_owned(),
                    "https://api.example.com/v1/*:GET".to_owned()
                ],
                vec!["1.1.1.1:53".to_owned()]
            )
        );
        assert_eq!(line.network.secrets().expect("good").len(), 1);
        assert_eq!(line.network.ports().len(), 2);
        assert_eq!(line.network.ports()[1].host_port, 8001);
    }

    #[test]
    fn a_sandbox_without_a_network_publishes_nothing() {
        for (words, expected) in [
            (&["msb", "--network", "none", "-p", "80"][..], true),
            (&["msb", "--net=none", "-P"], true),
            (&["msb", "--network", "none"], false),
            (&["msb", "-p", "80"], false),
        ] {
            let line = <Line as clap::Parser>::try_parse_from(words).unwrap();
            let network = line.network;
            assert_eq!(network.publishes_nothing(), expected, "{words:?}");
            assert!(!expected || network.ports().is_empty() && !network.publishes_all());
        }
    }
}
