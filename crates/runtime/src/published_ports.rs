use fs_err as fs;
use msb_network::Publish;

use crate::sandbox::SandboxPaths;

/// Returns the published ports of a running machine's network; `None` if it has not recorded them.
pub(crate) fn read_published(files: &SandboxPaths) -> Option<Vec<Publish>> {
    serde_json::from_slice(&fs::read(files.ports()).ok()?).ok()
}
