//! A sandbox for tests, which no machine runs.

use std::sync::Arc;

use msb_client::{Settings, Shared};
use msb_runtime::Sandbox as StoredSandbox;
use tempfile::TempDir;

use crate::Handle;

/// Returns the handle of a stopped sandbox of the name `web`, in a home that only it uses.
pub(crate) fn stopped_sandbox() -> (TempDir, Arc<Handle>) {
    let home = testkit::sandboxes::home_with_stopped_sandbox();
    let mut settings = Settings::default();
    settings.home = Some(home.path().to_owned());
    let shared = Shared::new(settings).expect("a client");
    let stored = StoredSandbox::find(shared.home(), "web").expect("read");
    let stored = stored.expect("found");
    let handle = Handle::new(Arc::new(shared), stored, Vec::new());
    (home, Arc::new(handle))
}
