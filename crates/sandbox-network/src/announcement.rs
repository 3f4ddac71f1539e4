use msb_agent_protocol::v1::ChangeNetworkRequest;
use msb_agent_protocol::{Client, ClientError, KeepingRules};
use msb_runtime::Sandbox;
use msb_runtime::network::NetworkRules;
use tokio::runtime::Handle;

use crate::NetworkRulesError;

/// The way to a running machine, which hears of rules before they are kept: it follows them if they are, also if this process
/// is killed in between.
pub(crate) struct Announcement {
    /// The supervisor; `None` if the sandbox is not running.
    supervisor: Option<Client>,
    /// The runtime of the connection.
    handle: Handle,
    closes: bool,
}

impl Announcement {
    /// Connects to the machine of a sandbox that is running. With `closes`, its connections end that are denied then.
    ///
    /// # Errors
    /// If the supervisor does not answer.
    pub(crate) async fn new(
        sandbox: &Sandbox,
        is_up: bool,
        closes: bool,
    ) -> Result<Self, NetworkRulesError> {
        let supervisor = if is_up {
            Some(sandbox.connect_supervisor().await?)
        } else {
            None
        };
        Ok(Self {
            supervisor,
            handle: Handle::current(),
            closes,
        })
    }

    /// Announces rules that are kept next. Blocks until it is the turn of this process. `None` if no machine runs, or one
    /// that does not know of announcements.
    ///
    /// # Errors
    /// If the machine refuses the rules, or does not answer.
    pub(crate) fn make(self, rules: &NetworkRules) -> Result<Option<Announced>, NetworkRulesError> {
        let Some(mut supervisor) = self.supervisor else {
            return Ok(None);
        };
        let announced = supervisor.keep_network(request(rules, self.closes));
        match self.handle.block_on(announced) {
            Ok(keeping) => Ok(Some(Announced {
                keeping,
                _supervisor: supervisor,
            })),
            // An older msb has started the machine.
            Err(ClientError::Unimplemented { .. }) => Ok(None),
            Err(error) => Err(NetworkRulesError::Machine(error)),
        }
    }
}

/// Rules that a machine follows once they are kept.
pub(crate) struct Announced {
    keeping: KeepingRules,
    /// Held, because it keeps the connection open.
    _supervisor: Client,
}

impl Announced {
    /// Says that the rules are kept. Returns once the machine follows them.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) async fn kept(self) -> Result<(), NetworkRulesError> {
        let followed = self.keeping.kept().await;
        followed.map_err(NetworkRulesError::Machine)
    }
}

/// Returns the rules as they are sent to the supervisor.
pub(crate) fn request(rules: &NetworkRules, closes: bool) -> ChangeNetworkRequest {
    ChangeNetworkRequest {
        mode: rules.reach.to_string(),
        allow: rules.allow_texts(),
        deny: rules.deny_texts(),
        closes,
    }
}
