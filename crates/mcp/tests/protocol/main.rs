//! The server as its clients see it, without a virtual machine.

mod client;

use msb_mcp::{ServeError, Settings};
use msb_sdk::{Msb, Network, PullPolicy};
use serde_json::{Value, json};
use tempfile::TempDir;

use client::Client;

/// Returns a home with a stopped sandbox of another session, `web`.
fn home() -> (TempDir, Msb) {
    let home = testkit::sandboxes::home_with_stopped_sandbox();
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    (home, msb)
}

/// Returns settings with which nothing is pulled.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.template.pull = PullPolicy::Never;
    settings
}

#[tokio::test]
async fn a_client_is_told_what_the_server_has() {
    let (_home, msb) = home();
    let mut client = Client::silent(msb, settings());
    let parameters = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let greeting = client.request("initialize", parameters).await;
    let result = &greeting["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "msb");
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert!(result["capabilities"]["resources"].is_object(), "{result}");
    assert_eq!(result["capabilities"].get("prompts"), None);
    let instructions = result["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("sandbox_create"), "{instructions}");
    let pong = client.request("ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
    assert!(client.close().await.expect("served").is_none());
}

#[tokio::test]
async fn a_client_of_the_protocol_without_sessions_is_served() {
    let (_home, msb) = home();
    let mut client = Client::silent(msb, settings());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let found = client
        .request("server/discover", json!({"_meta": meta}))
        .await;
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(
        versions.contains("2026-07-28") && versions.contains("2024-11-05"),
        "{found}"
    );
    let listed = client.request("tools/list", json!({"_meta": meta})).await;
    let tools = listed["result"]["tools"].as_array().map_or(0, Vec::len);
    assert_eq!(tools, 15, "{listed}");
    let call = json!({"_meta": meta, "name": "sandbox_list", "arguments": {}});
    let called = client.request("tools/call", call).await;
    assert_eq!(
        called["result"]["structuredContent"],
        json!({"sandboxes": []})
    );
    assert!(client.close().await.expect("served").is_none());
}

#[tokio::test]
async fn a_sandbox_of_another_session_is_one_that_does_not_exist() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({})).await;
    let listed = client.call("sandbox_list", json!({})).await;
    assert_eq!(listed["structuredContent"], json!({"sandboxes": []}));
    for (tool, more) in [
        ("sandbox_exec", json!({"command": "id"})),
        ("sandbox_read_file", json!({"path": "/etc/passwd"})),
        ("sandbox_write_file", json!({"path": "/x", "text": ""})),
        (
            "sandbox_edit_file",
            json!({"path": "/x", "old_text": "a", "new_text": "b"}),
        ),
        ("sandbox_list_files", json!({})),
        ("sandbox_diff", json!({})),
        ("sandbox_apply", json!({})),
        ("sandbox_snapshot", json!({})),
        ("sandbox_rollback", json!({"snapshot": "1"})),
        ("sandbox_undo", json!({})),
        ("sandbox_fork", json!({})),
        ("sandbox_logs", json!({})),
        ("sandbox_remove", json!({})),
    ] {
        let mut texts = Vec::new();
        // By its name, by its id, by the beginning of its id; a name that is hostile, and none.
        for name in ["web", "0123456789ab", "0123", "\u{1b}[2J/../web", ""] {
            let mut arguments = more.clone();
            arguments["name"] = name.into();
            let text = client.failure(tool, arguments).await;
            let shown = name.escape_unicode().to_string();
            let is_shown = text.starts_with("no such sandbox in this session: ");
            assert!(
                is_shown && !text.contains('\u{1b}'),
                "{tool} {shown}: {text}"
            );
            texts.push(text.replace(name, "NAME"));
        }
        assert_eq!(texts.first(), texts.get(1), "{tool}");
    }
    assert!(client.close().await.expect("served").is_none());
}

#[tokio::test]
async fn all_sandboxes_are_seen_where_the_user_allows_it() {
    let (_home, msb) = home();
    let settings = Settings {
        sees_all: true,
        ..settings()
    };
    let mut client = Client::new(msb, settings, json!({})).await;
    let listed = client.call("sandbox_list", json!({})).await;
    let sandbox = &listed["structuredContent"]["sandboxes"][0];
    assert_eq!(
        (&sandbox["name"], &sandbox["state"]),
        (&json!("web"), &json!("created"))
    );
    // The text has the same for clients that read only that.
    let text = listed["content"][0]["text"].as_str().unwrap_or_default();
    let text: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(text, listed["structuredContent"]);
    // A sandbox of others is not started.
    let failure = client
        .failure("sandbox_exec", json!({"name": "web", "command": "id"}))
        .await;
    assert!(failure.contains("\nkind: not-running"), "{failure}");
    let resources = client.request("resources/list", json!({})).await;
    let uri = &resources["result"]["resources"][0]["uri"];
    assert_eq!(uri, "msb://web/log", "{resources}");
    let read = client.request("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "", "{read}");
}

#[tokio::test]
async fn a_session_without_a_sandbox_says_how_to_get_one() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({})).await;
    let failure = client
        .failure("sandbox_exec", json!({"command": "id"}))
        .await;
    assert_eq!(
        failure,
        "this session has no sandbox yet\nkind: sandbox-not-found\nhint: create one with sandbox_create"
    );
}

#[tokio::test]
async fn arguments_that_no_tool_has_are_refused() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({})).await;
    for (tool, arguments, named) in [
        (
            "sandbox_create",
            json!({"image": "a", "copy_from": "/etc"}),
            "copy_from",
        ),
        (
            "sandbox_create",
            json!({"image": "a", "mounts": ["/:/host"]}),
            "mounts",
        ),
        (
            "sandbox_create",
            json!({"image": "a", "network": "host"}),
            "host",
        ),
        ("sandbox_exec", json!({}), "command"),
        (
            "sandbox_exec",
            json!({"command": ["id"]}),
            "expected a string",
        ),
        (
            "sandbox_exec",
            json!({"command": "id", "timeout_s": 0}),
            "timeout_s",
        ),
        (
            "sandbox_exec",
            json!({"command": "id", "timeout_s": -1}),
            "-1",
        ),
        (
            "sandbox_read_file",
            json!({"path": "/x", "limit": 1_000_000}),
            "limit",
        ),
        ("sandbox_write_file", json!({"path": "/x"}), "base64"),
        (
            "sandbox_logs",
            json!({"source": "console", "denied": true}),
            "denied",
        ),
        ("sandbox_diff", json!({"base": "other@1"}), "other@1"),
        (
            "sandbox_apply",
            json!({"plan": "none", "dry_run": false}),
            "plan",
        ),
    ] {
        let text = client.failure(tool, arguments).await;
        assert!(
            text.contains(named) && text.contains("\nkind: "),
            "{tool}: {text}"
        );
    }
    let unknown = client
        .request("tools/call", json!({"name": "sandbox_shell"}))
        .await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn a_client_gets_no_more_than_its_user_has_set() {
    let (_home, msb) = home();
    let mut settings = settings();
    settings.template.network = Network::listed();
    settings.images = vec!["debian".to_owned()];
    let mut client = Client::new(msb, settings, json!({})).await;
    for (arguments, expected) in [
        (
            json!({"image": "alpine"}),
            "'alpine' is not one of the images of this session",
        ),
        (
            json!({"network": "outbound"}),
            "network: the sandboxes of this session reach less",
        ),
        (
            json!({"memory_mib": 1_000_000}),
            "memory_mib: 1000000 is more than",
        ),
        (json!({"cpus": 255}), "cpus: 255 is more than"),
    ] {
        let text = client.failure("sandbox_create", arguments).await;
        assert!(text.starts_with(expected), "{text}");
    }
    // What is allowed is tried, and there is no such image.
    let text = client
        .failure("sandbox_create", json!({"network": "none"}))
        .await;
    assert!(text.contains("\nkind: image-not-found"), "{text}");
}

#[tokio::test]
async fn a_session_has_few_sandboxes() {
    let (_home, msb) = home();
    let settings = Settings {
        sandboxes_max: 0,
        ..settings()
    };
    let mut client = Client::new(msb, settings, json!({})).await;
    let text = client
        .failure("sandbox_create", json!({"image": "a"}))
        .await;
    assert!(text.starts_with("this session has 0 sandboxes"), "{text}");
}

#[tokio::test]
async fn a_client_is_asked_for_its_roots_once_a_sandbox_is_created() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({"roots": {}})).await;
    let create = json!({"name": "sandbox_create", "arguments": {"image": "a"}});
    let id = client.begin("tools/call", create).await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    // The other calls go on meanwhile.
    let pong = client.request("ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
    let roots = json!({"roots": [{"uri": "file:///"}, {"uri": "https://example.com"}]});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots});
    client.send(&answer).await;
    let created = client.receive().await;
    assert_eq!(created["id"], id);
    let text = created["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(text.contains("\nkind: image-not-found"), "{created}");
}

#[tokio::test]
async fn directories_of_the_user_replace_roots() {
    let (home, msb) = home();
    let settings = Settings {
        directories: vec![home.path().to_owned()],
        ..settings()
    };
    let mut client = Client::new(msb, settings, json!({"roots": {}})).await;
    // The answer is the next message: nothing is asked.
    let failure = client
        .failure("sandbox_create", json!({"image": "a"}))
        .await;
    assert!(failure.contains("\nkind: "), "{failure}");
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({"roots": {}})).await;
    let create = json!({"name": "sandbox_create", "arguments": {"image": "a"}});
    let id = client.begin("tools/call", create).await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    });
    client.send(&cancel).await;
    // It holds nothing that the next call waits for.
    let next = json!({"name": "sandbox_create", "arguments": {"image": "b"}});
    let next = client.begin("tools/call", next).await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
    client.send(&answer).await;
    let answered = client.receive().await;
    assert_eq!(answered["id"], next, "{answered}");
    assert!(client.close().await.expect("served").is_none());
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({})).await;
    client.send_line(b"hello").await;
    client.send_line(b"\xff\xfe{").await;
    client.send_line("[".repeat(100_000).as_bytes()).await;
    // Longer than a message may be.
    client.send_line(&vec![b'x'; 17 << 20]).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/unknown"}))
        .await;
    let pong = client.request("ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
}

#[tokio::test]
async fn what_is_no_client_is_refused() {
    let (_home, msb) = home();
    let mut client = Client::silent(msb, settings());
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let ended = client.ended().await;
    assert!(matches!(ended, Err(ServeError::NoClient)), "{ended:?}");
}

#[tokio::test]
async fn a_client_that_has_gone_before_it_began_is_no_error() {
    let (_home, msb) = home();
    let client = Client::silent(msb, settings());
    assert!(client.close().await.expect("no error").is_none());
}

#[tokio::test]
async fn resources_are_logs_alone() {
    let (_home, msb) = home();
    let mut client = Client::new(msb, settings(), json!({})).await;
    let templates = client.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().cloned();
    let forms: Vec<Value> = templates
        .unwrap_or_default()
        .iter()
        .map(|template| template["uriTemplate"].clone())
        .collect();
    assert_eq!(forms, ["msb://{name}/log", "msb://{name}/network"]);
    for uri in [
        "msb://web/log",
        "msb://web/sandbox.json",
        "file:///etc/passwd",
        "",
        "msb://",
    ] {
        let read = client.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(read["error"]["code"], -32002, "{uri}: {read}");
    }
}
