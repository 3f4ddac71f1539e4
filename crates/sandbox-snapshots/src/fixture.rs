//! A stopped sandbox, for tests.

use fs_err as fs;
use msb_runtime::{Home, Sandbox, SandboxId, Spec};
use serde_json::json;

/// Returns the description of a sandbox without an image, with a new id.
pub(crate) fn spec(name: &str) -> Spec {
    let process = serde_json::to_value(msb_runtime::Process::default()).expect("a value");
    let spec = json!({
        "id": SandboxId::random().expect("randomness"),
        "name": name,
        "image": "",
        "image_digest": "",
        "created_s": 0,
        "cpus": 1,
        "memory_mib": 64,
        "upper_bytes": 0,
        "remove_when_stopped": false,
        "process": process,
    });
    serde_json::from_value(spec).expect("a description")
}

/// Creates a sandbox without an upper disk.
pub(crate) fn sandbox(home: &Home, spec: Spec) -> Sandbox {
    let sandbox = Sandbox::at(home, spec);
    fs::create_dir_all(&sandbox.files.directory).expect("made");
    Sandbox::describe_all(home, std::slice::from_ref(&sandbox)).expect("the name is free");
    sandbox
}
