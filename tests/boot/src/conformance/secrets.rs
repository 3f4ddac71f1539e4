//! The steps on the secrets of a sandbox.

use msb_sdk::{NewValue, Sandbox, SecretSource, SecretValue};
use serde_json::{Value, json};

use super::expectation::{Fields, plain};
use super::steps::{StepError, word};

/// Carries out a step on the secrets of a sandbox.
pub(super) async fn perform(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let secrets = sandbox.secrets();
    match word(step, "do")? {
        "secret_list" => {
            let found = secrets.list().await?;
            let states: Vec<_> = found.iter().map(|secret| json!(secret.state)).collect();
            let sources: Vec<_> = found.iter().map(|secret| secret.source.clone()).collect();
            let names: Vec<_> = found.into_iter().map(|secret| secret.name).collect();
            return Ok(Fields::from([
                ("names", plain(names)),
                ("sources", plain(sources)),
                ("states", plain(states)),
            ]));
        }
        "secret_set" => secrets.set_with(word(step, "name")?, new(step)?).await?,
        "secret_remove" => secrets.remove(word(step, "name")?).await?,
        other => return Err(anyhow::anyhow!("no step {other}").into()),
    }
    Ok(Fields::new())
}

fn new(step: &Value) -> Result<NewValue, StepError> {
    if let Some(source) = step["from"].as_str() {
        let source: SecretSource = source.parse().map_err(msb_sdk::Error::from)?;
        return Ok(NewValue::From(source));
    }
    let Some(value) = step["value"].as_str() else {
        return Ok(NewValue::Recorded);
    };
    let value = SecretValue::new(value).map_err(msb_sdk::Error::from)?;
    Ok(NewValue::Given(value))
}
