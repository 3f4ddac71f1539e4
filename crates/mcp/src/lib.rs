//! The MCP server of msb: sandboxes as tools of a model's client.
//!
//! [`serve`] speaks the Model Context Protocol with one client, over standard input and output or any pair of
//! streams. A client works with the sandboxes of its own session, which [`Settings`] describe: what a sandbox may
//! reach, mount and know is set there, and no tool widens it.
//!
//! ```no_run
//! use std::future::pending;
//!
//! use msb_mcp::{Settings, serve};
//! use msb_sdk::Msb;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::default();
//! let streams = (tokio::io::stdin(), tokio::io::stdout());
//! serve(Msb::new()?, settings, streams, pending::<()>()).await?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod bounded_text;
mod call;
mod confirmation;
mod failure;
mod held_plan;
mod pull_progress;
mod resources;
mod roots;
mod schema;
mod serve;
mod server;
mod session;
mod settings;
mod tools;

pub use serve::{ServeError, serve};
pub use settings::Settings;

/// Standard input and output as pipes that no thread waits for, where the host has them.
pub use rmcp::transport::stdio_pipes as standard_streams;
