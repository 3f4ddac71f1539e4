//! The SSH server of a sandbox: commands, terminals, files and sockets of its guest, to an OpenSSH client.
//!
//! [`serve`] speaks SSH with one client over a pair of streams, as `ProxyCommand` of OpenSSH connects them. There is no
//! listener, and the image needs no sshd: a command is one of [`msb_sdk::Sandbox::spawn_with`], files are served by the
//! guest's agent, and forwarded connections are the agent's. Whoever can start the server may do all of that with `msb exec`
//! as well, so it accepts every user without a key; the name of the user is that of the guest's user. The client knows
//! the server by a key of the home, [`HostKey`], which [`ClientFiles`] tell it.
//!
//! ```no_run
//! use std::future::pending;
//!
//! use msb_sdk::Msb;
//! use msb_ssh::{HostKey, serve};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let msb = Msb::new()?;
//! let sandbox = msb.sandboxes().get("web").await?;
//! let key = HostKey::open(msb.home())?;
//! let streams = (tokio::io::stdin(), tokio::io::stdout());
//! serve(&msb, sandbox, &key, streams, pending::<()>()).await?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod agent_socket;
mod channels;
mod client;
mod client_files;
mod command;
mod connection;
mod forward;
mod guest;
mod host_key;
mod intake;
mod output;
mod serve;
mod serve_error;
mod session;
mod signals;

pub use client::{ClientError, ClientOptions};
pub use client_files::{ClientFiles, ClientFilesError};
pub use host_key::{HostKey, HostKeyError};
pub use serve::serve;
pub use serve_error::ServeError;

/// The end of the names by which clients know sandboxes.
const SUFFIX: &str = ".msb";

/// Returns the name of the sandbox that a client means by the name of a host.
pub fn sandbox_name(host: &str) -> &str {
    host.strip_suffix(SUFFIX).unwrap_or(host)
}

/// The number of open channels of a client.
const CHANNELS_MAX: usize = 64;
