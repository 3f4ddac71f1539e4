//! The steps on the rules of a sandbox's network.

use msb_sdk::{Network, NetworkChange, NetworkPolicy, Sandbox};
use serde_json::Value;

use super::expectation::{Fields, plain};
use super::steps::{StepError, word};

/// Carries out a step on the rules of a sandbox's network.
pub(super) async fn perform(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let network = sandbox.network();
    let rules = || -> Result<Vec<String>, StepError> {
        Ok(serde_json::from_value(step["rules"].clone()).map_err(anyhow::Error::from)?)
    };
    let close = step["close"].as_bool().unwrap_or_default();
    let policy = match word(step, "do")? {
        "network_show" => network.show().await?,
        "network_allow" => {
            network
                .change(NetworkChange::Allow(rules()?), close)
                .await?
        }
        "network_deny" => network.change(NetworkChange::Deny(rules()?), close).await?,
        "network_remove" => {
            let change = NetworkChange::Remove(rules()?);
            network.change(change, close).await?
        }
        "network_set" => {
            let given = serde_json::from_value::<Network>(step["network"].clone());
            let given = given.map_err(anyhow::Error::from)?;
            network.set_with(given, close).await?
        }
        other => return Err(anyhow::anyhow!("no step {other}").into()),
    };
    Ok(fields(policy))
}

fn fields(policy: NetworkPolicy) -> Fields {
    Fields::from([
        ("mode", plain(policy.mode)),
        ("allow", plain(policy.allow)),
        ("deny", plain(policy.deny)),
        ("ask", plain(policy.ask)),
    ])
}
