use msb_runtime::network::Settings;
use serde::Serialize;

/// The rules of a sandbox's network, as they are kept with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NetworkPolicy {
    /// The destinations that the sandbox reaches without a rule: `outbound`, `listed`, or `none` if it has no network
    /// device.
    pub mode: String,
    /// Rules that allow destinations and requests.
    pub allow: Vec<String>,
    /// Rules that deny destinations; they take precedence.
    pub deny: Vec<String>,
    /// True if the user is asked about destinations that no rule denies and the mode does.
    pub ask: bool,
    /// Hosts of secrets, each with its port, which are allowed as long as the sandbox has the secret.
    pub secret_hosts: Vec<String>,
}

impl NetworkPolicy {
    /// Returns the rules of settings; `None` stands for no network.
    pub(crate) fn new(settings: Option<&Settings>) -> Self {
        let Some(settings) = settings else {
            return Self {
                mode: "none".to_owned(),
                allow: Vec::new(),
                deny: Vec::new(),
                ask: false,
                secret_hosts: Vec::new(),
            };
        };
        let rules = settings.rules();
        let to = settings.secrets.iter().flat_map(|secret| &secret.to);
        let mut secret_hosts: Vec<_> = to.map(|to| format!("{}:{}", to.host, to.port)).collect();
        secret_hosts.sort_unstable();
        secret_hosts.dedup();
        Self {
            mode: rules.reach.to_string(),
            allow: rules.allow_texts(),
            deny: rules.deny_texts(),
            ask: settings.asks,
            secret_hosts,
        }
    }
}
