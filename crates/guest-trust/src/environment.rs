use msb_secrets::Secret;

use crate::bundle::BUNDLE;

/// The variables that name such a file for programs: OpenSSL, Go and rustls, curl, git, Python's requests and pip,
/// Node.js, Deno, Cargo, the AWS tools, Codex, Nix, and the tools of Google Cloud.
const VARIABLES: [&str; 12] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "CODEX_CA_CERTIFICATE",
    "NIX_SSL_CERT_FILE",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
];

/// The environment variables of a sandbox's commands, as `NAME=value`. The user's own go before all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustEnvironment {
    /// Variables that hold unless the image sets them.
    pub defaults: Vec<String>,
    /// Variables that replace the image's.
    pub settings: Vec<String>,
}

impl TrustEnvironment {
    /// Returns the variables of a sandbox with these secrets. With `has_authority` they lead to the bundle whatever
    /// the image sets, because its programs must trust the sandbox's own authority; with `trusts_host` alone they
    /// give way to the image's.
    pub(crate) fn new(secrets: &[Secret], trusts_host: bool, has_authority: bool) -> Self {
        let leading = || VARIABLES.map(|name| format!("{name}={BUNDLE}")).to_vec();
        let mut environment = Self::default();
        if has_authority {
            environment.settings = leading();
        } else if trusts_host {
            environment.defaults = leading();
        }
        environment
            .settings
            .extend(secrets.iter().filter_map(placeholder));
        environment
    }
}

/// Returns the variable of a secret; `None` if its placeholder is in a file, or it has none yet.
fn placeholder(secret: &Secret) -> Option<String> {
    if secret.file.is_some() {
        return None;
    }
    let placeholder = secret.placeholder.as_ref()?;
    Some(format!("{}={placeholder}", secret.name))
}

/// Removes the variables from an environment, given as `NAME=value`, that these secrets have set.
pub fn without_placeholders(environment: &mut Vec<String>, secrets: &[Secret]) {
    let set: Vec<String> = secrets.iter().filter_map(placeholder).collect();
    environment.retain(|setting| !set.contains(setting));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        text.parse().expect("a secret")
    }

    #[test]
    fn the_authority_goes_before_the_image_and_the_host_does_not() {
        let leads = |settings: &[String]| {
            settings.len() == VARIABLES.len()
                && settings
                    .iter()
                    .all(|each| each.ends_with("=/etc/msb/ca.pem"))
        };
        let nothing = TrustEnvironment::new(&[], false, false);
        assert_eq!(nothing, TrustEnvironment::default());
        let host = TrustEnvironment::new(&[], true, false);
        assert!(
            leads(&host.defaults) && host.settings.is_empty(),
            "{host:?}"
        );
        let own = TrustEnvironment::new(&[], true, true);
        assert!(leads(&own.settings) && own.defaults.is_empty(), "{own:?}");
        for name in [
            "SSL_CERT_FILE",
            "NODE_EXTRA_CA_CERTS",
            "CODEX_CA_CERTIFICATE",
        ] {
            assert!(own.settings.contains(&format!("{name}={BUNDLE}")), "{name}");
        }
    }

    #[test]
    fn a_placeholder_is_a_variable_unless_it_is_a_file() {
        let mut token = secret("TOKEN@api.example.com");
        token.draw_placeholder().expect("randomness");
        let mut in_file = token.clone();
        in_file.file = Some("/srv/token".to_owned());
        let secrets = [token.clone(), in_file, secret("NONE@api.example.com")];
        let made = TrustEnvironment::new(&secrets, false, false);
        let value = token.placeholder.expect("it was set").to_string();
        let setting = format!("TOKEN={value}");
        assert_eq!(made.settings, std::slice::from_ref(&setting));
        let mut environment = vec!["A=1".to_owned(), setting, "TOKEN=mine".to_owned()];
        without_placeholders(&mut environment, &secrets);
        assert_eq!(environment, ["A=1", "TOKEN=mine"]);
    }
}
