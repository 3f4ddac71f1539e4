//! The guides that boot guests, each run from its first line to its last.

use guides::{Environment, run};

fn boot(guide: &str) {
    let outcome = Environment::prepare().and_then(|environment| run(guide, &environment));
    if let Err(error) = outcome {
        panic!("{error:#}");
    }
}

#[test]
fn boot_guide_first_sandbox() {
    boot("first-sandbox");
}

#[test]
fn boot_guide_agents() {
    boot("agents");
}

#[test]
fn boot_guide_review() {
    boot("review");
}

#[test]
fn boot_guide_repository() {
    boot("repository");
}

#[test]
#[ignore = "fetches 400 MB from the npm registry: cargo xtask long-guides"]
fn boot_guide_coding_agents() {
    boot("coding-agents");
}

#[test]
fn boot_guide_snapshots() {
    boot("snapshots");
}

#[test]
fn boot_guide_mcp() {
    boot("mcp");
}

#[test]
fn boot_guide_ssh() {
    boot("ssh");
}

#[test]
fn boot_guide_ci() {
    boot("ci");
}

#[test]
fn boot_guide_images_and_registries() {
    boot("images-and-registries");
}
