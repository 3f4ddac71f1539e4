use msb_secrets::{Secret, ValueState};
use serde::{Deserialize, Serialize};

/// A secret of a sandbox, with the keys of `msb secret ls --format json`. It has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SecretInfo {
    /// The name of the secret, and of the variable that holds its placeholder.
    pub name: String,
    /// The destinations, as `HOST[:PORT][/PATH][:METHODS]`.
    pub to: Vec<String>,
    /// The source of the value: `env:NAME`, `file:PATH`, `cmd:COMMAND`, or `given` by a program.
    pub source: String,
    /// The interval at which the value is read from its source again, in seconds; `None` if it is read at each start.
    pub every_s: Option<u64>,
    /// The place in a request, `header:NAME`, `query:NAME` or `basic`; `None` for the usual headers.
    pub placement: Option<String>,
    /// The file of the sandbox that holds the placeholder instead of a variable.
    pub file: Option<String>,
    /// The text that stands for the value in the sandbox.
    pub placeholder: Option<String>,
    /// The state in the running sandbox; `None` if the sandbox is not running.
    pub state: Option<ValueState>,
}

impl SecretInfo {
    pub(crate) fn new(secret: &Secret, state: Option<ValueState>) -> Self {
        Self {
            name: secret.name.to_string(),
            to: secret.to.iter().map(ToString::to_string).collect(),
            source: secret.from.to_string(),
            every_s: secret.every_s,
            placement: (!secret.placement.is_default()).then(|| secret.placement.to_string()),
            file: secret.file.clone(),
            placeholder: secret.placeholder.as_ref().map(ToString::to_string),
            state,
        }
    }
}

#[cfg(test)]
mod tests {
    use msb_secrets::SecretValue;

    use super::*;

    #[test]
    fn a_secret_is_described_in_the_words_of_the_command_line() {
        let text = "name=K,from=file:/run/k,to=api.example.com:8443,in=header:X-Acme-Key,every=90s";
        let mut secret: Secret = text.parse().expect("a secret");
        secret.value = Some(SecretValue::new("hunter22").expect("a value"));
        let info = SecretInfo::new(&secret, Some(ValueState::Held));
        assert_eq!(
            (info.name.as_str(), info.source.as_str(), info.every_s),
            ("K", "file:/run/k", Some(90))
        );
        assert_eq!(info.to, ["api.example.com:8443"]);
        assert_eq!(info.placement.as_deref(), Some("header:x-acme-key"));
        let json = serde_json::to_string(&info).expect("JSON");
        assert!(
            json.contains(r#""state":"held""#) && !json.contains("hunter22"),
            "{json}"
        );
    }
}
