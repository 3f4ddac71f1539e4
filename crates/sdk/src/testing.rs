//! A sandbox for tests, which no machine runs.

use tempfile::TempDir;

use crate::{Msb, Sandbox};

/// Returns a stopped sandbox of the name `web`, in a home of its own.
pub(crate) async fn stopped_sandbox() -> (TempDir, Sandbox) {
    let home = tempfile::tempdir().expect("a directory");
    let id = "0123456789ab";
    let directory = home.path().join("sandboxes").join(id);
    std::fs::create_dir_all(&directory).expect("made");
    let spec = serde_json::json!({
        "id": id, "name": "web", "image": "app", "image_digest": "", "created_s": 1, "cpus": 1,
        "memory_mib": 64, "upper_bytes": 0, "remove_when_stopped": false,
        "process": {
            "argv": [], "env": [], "working_directory": "", "user": "", "terminal": false,
            "stdin": false,
        },
    });
    std::fs::write(directory.join("sandbox.json"), spec.to_string()).expect("written");
    std::fs::write(directory.join("lock"), "").expect("written");
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let sandbox = msb.sandboxes().get("web").await.expect("found");
    (home, sandbox)
}
