//! Sandboxes that no machine runs, and that have no disk.

use fs_err as fs;
use msb_runtime::{Home, Process, Sandbox, SandboxId, Spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The name and the ID of the sandbox in a [`home_with_stopped_sandbox`].
const STOPPED: (&str, &str) = ("web", "0123456789ab");

/// Returns the description of a sandbox without an image, with a new ID.
///
/// # Panics
/// If the host's kernel gives no randomness.
pub fn spec(name: &str) -> Spec {
    let id = SandboxId::random().expect("randomness");
    serde_json::from_value(description(name, id.as_str())).expect("a description")
}

/// Creates a sandbox.
///
/// # Panics
/// If the name is taken, or a file cannot be written.
pub fn sandbox(home: &Home, spec: Spec) -> Sandbox {
    let sandbox = Sandbox::at(home, spec);
    fs::create_dir_all(&sandbox.files.directory).expect("made");
    Sandbox::describe_all(home, std::slice::from_ref(&sandbox)).expect("the name is free");
    sandbox
}

/// Returns a home with a stopped sandbox of the name `web` and the ID `0123456789ab`, made of the image `app`.
///
/// # Panics
/// If a file cannot be written.
pub fn home_with_stopped_sandbox() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let (name, id) = STOPPED;
    let directory = home.path().join("sandboxes").join(id);
    fs::create_dir_all(&directory).expect("made");
    let mut description = description(name, id);
    description["image"] = "app".into();
    fs::write(directory.join("sandbox.json"), description.to_string()).expect("written");
    fs::write(directory.join("lock"), "").expect("written");
    home
}

/// Returns what `sandbox.json` has of a sandbox without an image.
fn description(name: &str, id: &str) -> Value {
    let process = serde_json::to_value(Process::default()).expect("a value");
    json!({
        "id": id,
        "name": name,
        "image": "",
        "image_digest": "",
        "created_s": 0,
        "cpus": 1,
        "memory_mib": 64,
        "upper_bytes": 0,
        "remove_when_stopped": false,
        "process": process,
    })
}
