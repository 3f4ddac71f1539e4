//! A sandbox for tests, which no machine runs.

use tempfile::TempDir;

use crate::{Msb, Sandbox};

/// Returns a stopped sandbox of the name `web`, in a home of its own.
pub(crate) async fn stopped_sandbox() -> (TempDir, Sandbox) {
    let home = testkit::sandboxes::home_with_stopped_sandbox();
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let sandbox = msb.sandboxes().get("web").await.expect("found");
    (home, sandbox)
}
