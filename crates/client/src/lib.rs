//! A client of msb: the part that all of its operations share.
//!
//! [`Settings`] say where the home is, and how machines run. [`Shared`] is the state of a client, which every
//! handle has: the home, the checked program `msb`, changes of sandboxes whose caller has gone, and notices.
//! An [`Operation`] fails with an [`Error`], the one error of the SDK, into which the errors of msb's other
//! crates convert.
//!
//! ```
//! use msb_client::{Error, ErrorKind};
//!
//! let error = Error::new(ErrorKind::SandboxNotFound, "no such sandbox: web")
//!     .with_hint("list the sandboxes with msb ps -a")
//!     .context("cannot stop it");
//! assert_eq!(error.message(), "cannot stop it: no such sandbox: web");
//! ```
//!
//! Programs use `msb-sdk`, which exports what is of use to them.

mod cancellation;
mod error;
mod maintenance;
mod operation;
mod pack_after;
mod program;
mod settings;
mod shared;
mod values;
mod version;
mod vmm;

pub use msb_jail::Strictness as Jail;
pub use msb_vmm::VmmChoice;

pub use cancellation::{CancelOnDrop, Cancellation};
pub use error::{Error, ErrorKind, Face, line, printable};
pub use operation::{Operation, blocking};
pub use pack_after::{InvalidPackAfter, PackAfter};
pub use settings::{Maintenance, Settings};
pub use shared::Shared;
pub use values::{
    EndReason, Environment, Exit, Force, IntoSize, Notice, Removal, Signal, Stopped, TerminalSize,
    Text, Ulimit,
};
pub use version::{Version, version};
pub use vmm::{Backends, Selected};
