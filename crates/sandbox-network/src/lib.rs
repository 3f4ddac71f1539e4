//! The rules of a sandbox's network, for its clients.
//!
//! ```text
//! change ── sandbox.json: the rules that every later start follows
//!        └── the supervisor ── the network process: new connections of the running machine
//! ```
//!
//! A change is kept first, under the lock of the sandbox's description, and the running machine is then given what is
//! kept. If it refuses that, the rules before are kept again. Of two changes at a time, both are kept, and the machine
//! follows both in the end.
//!
//! **Errors.** [`NetworkRulesError`] names the sandbox and the rule.

#![forbid(unsafe_code)]

mod change;
mod error;
mod followed;
mod policy;
mod subject;

pub use change::NetworkChange;
pub use error::NetworkRulesError;
pub use followed::{change, show};
pub use policy::NetworkPolicy;
pub use subject::lasting_rule;
