//! Builds the guest agent and computes its digest. `MSB_AGENT` names a prebuilt agent to use
//! instead.

use std::path::PathBuf;

use guest_program::GuestProgram;
use sha2::{Digest as _, Sha256};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    GuestProgram {
        package: "msb-agent",
        ready_made: "MSB_AGENT",
        workspace: "../..",
        sources: &[
            "crates/agent",
            "crates/agent-protocol",
            "crates/container-plan",
            "crates/guest-container",
            "crates/sandbox-model",
            "crates/sftp-server",
            "crates/tree-archive",
            "crates/tar-stream",
            "crates/fstree",
            "Cargo.lock",
        ],
    }
    .build()?;
    // Every start needs the digest, and the agent is too large to hash each time.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    let agent = std::fs::read(out.join("msb-agent"))?;
    std::fs::write(out.join("msb-agent.sha256"), Sha256::digest(agent))?;
    Ok(())
}
