//! The secrets of a sandbox, for its clients.
//!
//! ```text
//! options ── without_values ── sandbox.json: names, destinations, sources
//! start ──── Delivery::resolve: variables, files, commands of the host
//!        └── Delivery::start ═══ secrets.sock ═══ the network process, which alone keeps values
//! later ──── list, set, remove ═══ secrets.sock
//! msb __secrets ── refresh: runs sources again before their values expire
//! ```
//!
//! A value is read before the boot, so that a missing one fails the start before there is a machine. It is sent
//! while the machine boots, and the start fails if that fails: a sandbox never runs with a secret that its network
//! process does not know.
//!
//! **Errors.** [`SecretsError`] names the sandbox and the secret, never a value.

#![forbid(unsafe_code)]

mod change;
mod control;
mod delivery;
mod error;
mod given;
mod info;
#[cfg(test)]
mod network_process;
mod notices;
mod prepare;
mod refresh;

pub use change::{NewValue, list, remove, set};
pub use control::ControlFailure;
pub use delivery::{Delivery, DeliveryError};
pub use error::SecretsError;
pub use given::GivenValues;
pub use info::SecretInfo;
pub use notices::notices;
pub use prepare::without_values;
pub use refresh::{refresh, variables};

use msb_runtime::Spec;
use msb_secrets::Secret;

/// Returns the secrets of a sandbox, as its description has them.
pub fn recorded(spec: &Spec) -> &[Secret] {
    let network = spec.network.as_ref();
    network.map_or(&[], |network| network.secrets.as_slice())
}
