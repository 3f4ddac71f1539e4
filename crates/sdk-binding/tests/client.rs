//! A client without a machine.

use std::time::Duration;

use msb_sdk_binding::{Client, Failure};
use serde_json::Value;

fn client(home: &tempfile::TempDir) -> Client {
    let parameters = serde_json::json!({ "home": home.path() });
    Client::open(&parameters.to_string()).expect("the client opens")
}

fn call(client: &Client, operation: &str, parameters: &str) -> Result<Value, Failure> {
    let reply = wait(client.handle().call(operation, parameters, Vec::new()));
    reply.map(|reply| serde_json::from_str(&reply.value).expect("the value is JSON"))
}

/// Waits with another executor than the client's own.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

fn description(failure: &Failure) -> Value {
    serde_json::from_str(&failure.value).expect("the description is JSON")
}

#[test]
fn a_client_answers() {
    let home = tempfile::tempdir().expect("a directory");
    let client = client(&home);
    let version = call(&client, "version", "{}").expect("it has a version");
    assert_eq!(version["msb"], env!("CARGO_PKG_VERSION"));
    let sandboxes = call(&client, "sandboxes.list", "{}").expect("it lists none");
    assert_eq!(sandboxes, Value::Array(Vec::new()));
}

#[test]
fn failures_have_kind_parents_code_and_message() {
    let home = tempfile::tempdir().expect("a directory");
    let client = client(&home);
    let failure = call(&client, "sandboxes.get", r#"{"name":"nobody"}"#).expect_err("none exists");
    let failure = description(&failure);
    assert_eq!(failure["kind"], "SandboxNotFound");
    assert_eq!(failure["parents"], serde_json::json!(["NotFound"]));
    assert_eq!(failure["code"], "sandbox-not-found");
    assert_eq!(failure["details"]["name"], "nobody");
}

#[test]
fn unknown_operations_fields_and_settings_are_refused_by_name() {
    let home = tempfile::tempdir().expect("a directory");
    let client = client(&home);
    let cases = [
        ("version", r#"{"bogus":1}"#, "InvalidArgument", "bogus"),
        (
            "sandboxes.run",
            r#"{"image":"a","bogus":1}"#,
            "InvalidArgument",
            "bogus",
        ),
        (
            "images.pull",
            r#"{"name":"a","bogus":1}"#,
            "InvalidArgument",
            "bogus",
        ),
        (
            "sandboxes.create",
            r#"{"image":"a","mounts":[{"type":"staged","source":"/a","target":"/b","rules":["c"]}]}"#,
            "InvalidArgument",
            "mounts of sandboxes.create",
        ),
        (
            "sandboxes.create",
            r#"{"image":"a","mounts":[{"type":"staged","source":"/a","target":"/b","rules":["c"]}]}"#,
            "InvalidArgument",
            "'c' is not a rule: write PATH=STATE",
        ),
        ("sandboxes.get", "[]", "InvalidArgument", "object"),
        ("sandboxes.get", "{}", "InvalidArgument", "name"),
        ("exec", "{}", "InternalError", "exec"),
    ];
    for (operation, parameters, kind, word) in cases {
        let failure = description(&call(&client, operation, parameters).expect_err(operation));
        assert_eq!(failure["kind"], kind, "{operation}");
        let message = failure["message"].as_str().unwrap_or_default();
        assert!(message.contains(word), "{message}");
    }
    for settings in [r#"{"bogus":1}"#, r#"{"vmm":"xen"}"#, "", "[]"] {
        let failure = Client::open(settings).map(|_| ()).expect_err(settings);
        assert_eq!(description(&failure)["kind"], "InvalidArgument");
    }
}

#[test]
fn a_client_that_was_shut_down_says_so() {
    let home = tempfile::tempdir().expect("a directory");
    let client = client(&home);
    let handle = client.handle();
    client.shutdown(Duration::from_secs(1));
    client.shutdown(Duration::from_secs(1));
    let failures = [
        call(&client, "version", "{}").map(|_| ()),
        wait(handle.call("version", "{}", Vec::new())).map(|_| ()),
    ];
    for failure in failures {
        let failure = description(&failure.expect_err("it is shut down"));
        assert_eq!(failure["code"], "client-closed");
    }
}

#[test]
fn a_closed_handle_says_so_and_others_go_on() {
    let home = tempfile::tempdir().expect("a directory");
    let client = client(&home);
    let handle = client.handle();
    handle.close();
    let failure = wait(handle.call("version", "{}", Vec::new())).map(|_| ());
    let failure = description(&failure.expect_err("it is closed"));
    assert_eq!(failure["code"], "closed");
    call(&client, "version", "{}").expect("other handles are open");
}
