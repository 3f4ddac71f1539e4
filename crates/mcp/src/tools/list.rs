use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use msb_sdk::{
    Error, LogOptions, NetworkConnect, NetworkEvent, Sandbox, SandboxInfo, SandboxState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// The age of the oldest refusals that are listed.
const DENIED_AGE: Duration = Duration::from_secs(60);
/// The most refusals of a sandbox that are read.
const DENIED_MAX: usize = 50;

/// Lists sandboxes.
pub(super) struct List;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The sandboxes, the oldest first.
    sandboxes: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Listed {
    /// Name, for the other tools.
    name: String,
    /// Image.
    image: String,
    /// State: created, running, paused, stopped or unreadable.
    state: SandboxWord,
    /// Destinations that the network refused in the last minute, with the option of msb mcp that allows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SandboxWord {
    Created,
    Running,
    Paused,
    Stopped,
    Unreadable,
}

impl SandboxTool for List {
    const NAME: &'static str = "sandbox_list";
    const TITLE: &'static str = "List sandboxes";
    const DESCRIPTION: &'static str = "Lists the sandboxes of this session with their states, and the destinations \
        that their networks refused in the last minute.";
    const EFFECT: Effect = Effect::READS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, _arguments: Arguments) -> Result<Output, Stop> {
        let listing = async {
            let mut sandboxes = Vec::new();
            for info in session.list().await? {
                sandboxes.push(listed(session, info).await);
            }
            Ok::<_, Stop>(Output { sandboxes })
        };
        call.watched(|| None, listing).await
    }
}

async fn listed(session: &Session, info: SandboxInfo) -> Listed {
    let denied = if info.state.is_up() {
        // A sandbox that ends meanwhile is listed nevertheless.
        denied(session, &info.id).await.unwrap_or_default()
    } else {
        Vec::new()
    };
    Listed {
        name: info.name,
        image: info.image,
        state: SandboxWord::from(info.state),
        denied,
    }
}

async fn denied(session: &Session, id: &str) -> Result<Vec<String>, Error> {
    let sandbox: Sandbox = session.msb.sandboxes().get(id).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = now.unwrap_or_default().saturating_sub(DENIED_AGE);
    let mut options = LogOptions::default();
    options.denied = true;
    options.tail = Some(DENIED_MAX);
    options.since_ns = u64::try_from(since.as_nanos()).ok();
    let log = sandbox.network_log(options).await?;
    let mut denied = BTreeSet::new();
    while let Some(record) = log.next().await? {
        if let NetworkEvent::Connect(refused) = record.event {
            denied.insert(destination(&refused));
        }
    }
    Ok(denied.into_iter().collect())
}

fn destination(refused: &NetworkConnect) -> String {
    let address = refused.address.to_string();
    let host = refused.name.as_deref().unwrap_or(&address);
    let host = terminal_text::escaped(host);
    match &refused.hint {
        Some(hint) => format!("{host}:{} ({hint})", refused.port),
        None => format!("{host}:{}", refused.port),
    }
}

impl From<SandboxState> for SandboxWord {
    fn from(state: SandboxState) -> Self {
        match state {
            SandboxState::Created => Self::Created,
            SandboxState::Running => Self::Running,
            SandboxState::Paused => Self::Paused,
            SandboxState::Stopped => Self::Stopped,
            // A state that is newer than this match is one that it cannot read.
            _ => Self::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_option_that_allows_it() {
        let record = r#"{
            "proto": "tcp", "name": "db.example", "address": "10.0.0.1", "port": 5432,
            "verdict": "denied", "rule": "10.0.0.0/8", "hint": "--net-allow 10.0.0.1:5432"
        }"#;
        let mut refused: NetworkConnect = serde_json::from_str(record).expect("a record");
        let expected = "db.example:5432 (--net-allow 10.0.0.1:5432)";
        assert_eq!(destination(&refused), expected);
        (refused.name, refused.hint) = (None, None);
        assert_eq!(destination(&refused), "10.0.0.1:5432");
    }
}
