//! Builds the guest agent. `MSB_AGENT` names a ready-made one instead.

use guest_program::{BuildError, GuestProgram};

fn main() -> Result<(), BuildError> {
    GuestProgram {
        package: "msb-agent",
        ready_made: "MSB_AGENT",
        workspace: "../..",
        sources: &[
            "crates/agent",
            "crates/agent-protocol",
            "crates/tree-archive",
            "crates/oci-layers",
            "Cargo.lock",
        ],
    }
    .build()
}
