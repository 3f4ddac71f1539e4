use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use msb_runtime::HostAuthorities;
use msb_runtime::network::{DefaultPolicy, InvalidPublish, Publish, Rule, Settings};

use crate::failure::{Failure, Outcome};

/// The most ports that a sandbox can publish: each uses a descriptor of its network process.
const PUBLISHED_MAX: usize = 1024;
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
    /// Destinations that the sandbox reaches
    #[arg(long, alias = "net", value_enum, default_value_t)]
    network: Mode,
    /// Publish a port of the sandbox, on 127.0.0.1 or on IP
    ///
    /// PORT and HOST may be ranges, and /tcp or /udp may follow. Without HOST the host chooses a free port,
    /// which msb port prints. IP is an address of the host.
    #[arg(short, long, value_name = "[[IP:]HOST:]PORT", value_parser = parse_published)]
    publish: Vec<Published>,
    /// Publish each port that the image exposes at a free port
    #[arg(short = 'P', long)]
    publish_all: bool,
    /// Let the sandbox reach addresses or names, as *.example.com:443
    ///
    /// Other forms are 10.0.0.0/8, 192.168.1.7:5432 and example.com. Private addresses are opened too.
    #[arg(long, value_name = "RULE")]
    net_allow: Vec<Rule>,
    /// Keep the sandbox from reaching addresses or names
    ///
    /// It takes precedence over --net-allow.
    #[arg(long, value_name = "RULE")]
    net_deny: Vec<Rule>,
    /// Resolver to ask instead of the host's
    #[arg(long, value_name = "IP[:PORT]", value_parser = parse_resolver)]
    dns: Vec<SocketAddr>,
    /// Let the sandbox trust the certificate authorities of this host
    #[arg(long)]
    host_ca: bool,
}

/// The destinations that a sandbox reaches without a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Everything but private, link-local and the host's own addresses
    #[default]
    Outbound,
    /// Only the destinations of --net-allow
    Listed,
    /// Nothing: the sandbox has no network device
    None,
}

impl NetworkArguments {
    /// Returns the settings of the network for an image that exposes these ports. `None` if the
    /// sandbox has no network.
    pub(crate) fn settings(&self, exposed_ports: &[String]) -> Result<Option<Settings>, Failure> {
        let Some(mut settings) = self.settings_of_any_image()? else {
            return Ok(None);
        };
        if self.publish_all {
            // A port of another protocol cannot be published; it is skipped.
            let exposed = exposed_ports.iter();
            let exposed = exposed.filter_map(|port| Publish::from_guest_port(port));
            let is_new = |exposed: &Publish| !leads_to(&settings.publish, exposed);
            let exposed: Vec<_> = exposed.filter(is_new).collect();
            settings.publish.extend(exposed);
        }
        let count = settings.publish.len();
        if count > PUBLISHED_MAX {
            let what =
                anyhow!("{count} published ports are too many, the limit is {PUBLISHED_MAX}");
            return Err(what.into());
        }
        Ok(Some(settings))
    }

    /// Returns the settings of the network before the image's exposed ports are known. `None` if
    /// the sandbox has no network.
    pub(crate) fn settings_of_any_image(&self) -> Result<Option<Settings>, Failure> {
        let reach = match self.network {
            Mode::Outbound => DefaultPolicy::Outbound,
            Mode::Listed => DefaultPolicy::Listed,
            Mode::None => return self.nothing(),
        };
        let with_ports = |rule: &&Rule| rule.is_of_names() && rule.is_of_ports();
        if let Some(rule) = self.net_deny.iter().find(with_ports) {
            return Err(anyhow!(
                "--net-deny {rule}: a name is denied with all its ports; leave the port out"
            )
            .into());
        }
        Ok(Some(Settings {
            reach,
            allow: self.net_allow.clone(),
            deny: self.net_deny.clone(),
            publish: self
                .publish
                .iter()
                .flat_map(|ports| ports.0.clone())
                .collect(),
            resolvers: self.dns.clone(),
        }))
    }

    /// Returns the host's certificate authorities; `None` if the sandbox does not trust them.
    pub(crate) fn authorities(&self) -> Result<Option<HostAuthorities>, Failure> {
        let authorities = self.host_ca.then(HostAuthorities::load).transpose();
        Ok(authorities.context("--host-ca")?)
    }

    fn nothing(&self) -> Result<Option<Settings>, Failure> {
        let is_plain = self.publish.is_empty()
            && !self.publish_all
            && self.net_allow.is_empty()
            && self.net_deny.is_empty()
            && self.dns.is_empty();
        if is_plain {
            return Ok(None);
        }
        Err(anyhow!(
            "-p, -P, --net-allow, --net-deny and --dns cannot be given with --network none"
        )
        .into())
    }
}

/// The ports that one `-p` publishes.
#[derive(Debug, Clone)]
struct Published(Vec<Publish>);

fn parse_published(text: &str) -> Result<Published, InvalidPublish> {
    Publish::parse_all(text).map(Published)
}

/// Returns true if one of `published` has the same guest port and protocol as `other`.
fn leads_to(published: &[Publish], other: &Publish) -> bool {
    let end = |publish: &Publish| (publish.guest_port, publish.protocol);
    published.iter().any(|publish| end(publish) == end(other))
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

    fn published(words: &[&str], exposed_ports: &[&str]) -> Result<Vec<String>, Failure> {
        let line = [&["msb"], words].concat();
        let line = <Line as clap::Parser>::try_parse_from(line).unwrap();
        let exposed_ports: Vec<_> = exposed_ports.iter().map(ToString::to_string).collect();
        let settings = line.network.settings(&exposed_ports)?;
        let published = settings.unwrap_or_default().publish;
        Ok(published.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_an_image_exposes_is_published_once_and_only_where_that_was_asked_for() {
        let exposed = ["80/tcp", "53/udp", "9/sctp", "80/tcp\u{1b}"];
        assert!(published(&[], &exposed).unwrap().is_empty());
        assert_eq!(
            published(&["-P", "-p", "8080:80"], &exposed).unwrap(),
            ["127.0.0.1:8080:80/tcp", "127.0.0.1:0:53/udp"]
        );
        assert!(published(&["-P", "--network", "none"], &exposed).is_err());
    }

    #[test]
    fn the_number_of_published_ports_is_bounded() {
        assert_eq!(published(&["-p", "1-1024"], &[]).unwrap().len(), 1024);
        assert!(published(&["-p", "1-1025"], &[]).is_err());
        assert!(published(&["-P", "-p", "1-1024"], &["2000/tcp"]).is_err());
    }
}
