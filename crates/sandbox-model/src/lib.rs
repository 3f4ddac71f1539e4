//! The values that describe a sandbox, each defined once: the SDK, the records of a sandbox, the
//! guest's agent and the types of the Python and TypeScript SDKs share them.
//!
//! [`GuestSettings`] are what users set in a guest. They are fields of the SDK's options and of a
//! sandbox's record, and one word of the kernel's command line, from which the agent reads them. The
//! `Default` of a value is its only default.
//!
//! ```
//! use msb_sandbox_model::GuestSettings;
//!
//! let mut settings = GuestSettings::default();
//! assert_eq!(settings.kernel_word(), None);
//!
//! settings.hostname = Some("web".parse()?);
//! let word = settings.kernel_word().expect("a setting has another value than its default");
//! assert_eq!(word, "{'hostname':'web'}");
//! assert_eq!(GuestSettings::from_kernel_word(&word).expect("read"), settings);
//! # Ok::<(), msb_sandbox_model::InvalidHostname>(())
//! ```
//!
//! # Limits
//! The crate knows no files, sockets or clocks. With the feature `schema` the values have JSON
//! schemas.

mod defaults;
mod guest_settings;
mod hostname;
pub mod kernel_word;
mod lifetime;
mod mode_change;
mod pid_namespace;
mod restart;
mod size;
mod socket_forward;
mod stop_signal;
mod sysctl;
mod sysctls;
mod undo_limit;

pub use defaults::{
    CPUS_DEFAULT_MAX, DISK_DEFAULT, DISK_DEFAULT_TEXT, MEMORY_DEFAULT, MEMORY_DEFAULT_TEXT,
};
pub use guest_settings::{
    GROUPED, GuestSettings, InvalidGuestSettings, InvalidGuestWord, WORD_MAX_BYTES,
};
pub use hostname::{Hostname, InvalidHostname};
pub use lifetime::Lifetime;
pub use mode_change::{InvalidMode, ModeChange};
pub use pid_namespace::{InvalidPidNamespace, PidNamespace};
pub use restart::Restart;
pub use size::{InvalidSize, Size};
pub use socket_forward::{
    AGENT_PATH, AGENT_VARIABLE, InvalidSocketForward, SocketForward, is_engine_socket,
};
pub use stop_signal::{NoSignal, StopSignal};
pub use sysctl::{Sysctl, SysctlError};
pub use sysctls::Sysctls;
pub use undo_limit::{InvalidUndoLimit, UndoLimit};
