//! Logins, and pushes to a registry in this process.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use testkit::push_registry::PushRegistry;
use testkit::registry::{Answer, Server};
use tokio::runtime::Runtime;

use crate::support::{Said, TestHome, host_architecture};

/// A registry that wants the password `pass` of `user`.
struct Registry {
    content: Arc<PushRegistry>,
    server: Server,
    _runtime: Runtime,
}

impl Registry {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let content = Arc::new(PushRegistry::default());
        let inner = Arc::clone(&content);
        let server = runtime.block_on(Server::new(move |request| {
            match request.headers.get("authorization").map(String::as_str) {
                Some("Basic dXNlcjpwYXNz") => inner.answer(request),
                _ => Answer::new(401, "").header("WWW-Authenticate", "Basic realm=x"),
            }
        }));
        Self {
            content,
            server,
            _runtime: runtime,
        }
    }

    fn address(&self) -> String {
        self.server.address.to_string()
    }
}

/// Logs in with a password on standard input.
fn log_in(home: &TestHome, registry: &str, password: &str, path: Option<&Path>) -> Said {
    let words = ["login", "-u", "user", "--password-stdin", registry];
    let mut command = home.command(&words);
    if let Some(path) = path {
        let all = format!(
            "{}:{}",
            path.display(),
            std::env::var("PATH").expect("a path")
        );
        command.env("PATH", all);
    }
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "{password}").expect("written");
    drop(stdin);
    Said::from_output(&child.wait_with_output().expect("ended"))
}

#[test]
fn a_login_is_checked_kept_used_and_removed() {
    let (home, registry) = (TestHome::new(), Registry::start());
    let address = registry.address();
    home.load("app:dev", &host_architecture());
    let name = format!("{address}/team/app:1");

    let denied = home.msb(&["push", "app:dev", &name]);
    denied.assert_refused(&["denies access"]);
    denied.assert_hint(&format!("msb login {address}"));
    assert_eq!(registry.content.manifest_count(), 0);

    let wrong = log_in(&home, &address, "wrong", None);
    wrong.assert_refused(&["does not accept this user name and password"]);
    let config = home.path().join(".docker/config.json");
    assert!(!config.exists());

    let logged_in = log_in(&home, &address, "pass", None);
    assert_eq!(logged_in.code, Some(0), "{}", logged_in.stderr);
    assert_eq!(logged_in.stdout, "Login Succeeded\n");
    assert!(logged_in.stderr.contains("unencrypted"));
    let mode = fs::metadata(&config).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let pushed = home.msb(&["push", "--format", "json", "app:dev", &name]);
    assert_eq!(pushed.code, Some(0), "{}", pushed.stderr);
    let json: serde_json::Value = serde_json::from_str(&pushed.stdout).expect("JSON");
    assert_eq!(json["reference"], name);
    assert_eq!(json["layers"][0]["route"], "rebuilt");
    let digest = json["digest"].as_str().expect("a digest");
    assert!(registry.content.manifest("team/app", digest).is_some());
    let again = home.msb(&["push", "app:dev", &name]);
    assert_eq!(again.stdout, format!("{digest}\n"));
    assert!(
        again.stderr.contains("a different digest"),
        "{}",
        again.stderr
    );
    assert_eq!(home.msb(&["push", "-q", "app:dev", &name]).stderr, "");
    home.msb(&["push", digest]).assert_refused(&[digest]);

    let logout = |expected: &str| {
        let logged_out = home.msb(&["logout", &address]);
        assert_eq!(logged_out.code, Some(0), "{}", logged_out.stderr);
        assert_eq!(logged_out.stdout, format!("{expected} {address}\n"));
    };
    logout("Removed login credentials for");
    logout("Not logged in to");
    home.msb(&["push", "app:dev", &name])
        .assert_refused(&["denies access"]);
}

/// A credential helper that keeps what it is given in a file beside it.
const HELPER: &str = r#"
cd "$(dirname "$0")" || exit 1
echo "$1" >>actions
case $1 in
store) cat >kept ;;
get) cat kept || { echo credentials not found in native keychain; exit 1; } ;;
erase) rm kept 2>/dev/null || { echo credentials not found in native keychain; exit 1; } ;;
esac
"#;

#[test]
fn a_credential_helper_keeps_the_password() {
    let (home, registry) = (TestHome::new(), Registry::start());
    let address = registry.address();
    let programs = home.path().join("programs");
    fs::create_dir(&programs).expect("made");
    let helper = programs.join("docker-credential-test");
    testkit::shell_program(&helper, HELPER).expect("written");
    let config = home.path().join(".docker/config.json");
    fs::create_dir(home.path().join(".docker")).expect("made");
    fs::write(&config, r#"{"credsStore":"test","detachKeys":"ctrl-x"}"#).expect("written");

    let logged_in = log_in(&home, &address, "pass", Some(&programs));
    assert_eq!(logged_in.code, Some(0), "{}", logged_in.stderr);
    assert!(!logged_in.stderr.contains("unencrypted"));
    let text = fs::read_to_string(&config).expect("read");
    let config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(config["auths"][&address], serde_json::json!({}));
    assert_eq!(config["detachKeys"], "ctrl-x");
    let kept = fs::read_to_string(programs.join("kept")).expect("kept");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept["ServerURL"], address);
    assert_eq!(
        (&kept["Username"], &kept["Secret"]),
        (&"user".into(), &"pass".into())
    );
}

#[test]
fn a_password_is_no_word_of_a_command() {
    let home = TestHome::new();
    for words in [
        &["login", "-p", "secret", "r.example"][..],
        &["login", "-u", "me", "--password=secret"],
    ] {
        let refused = home.msb(words);
        assert_eq!(refused.code, Some(125));
        assert!(
            refused.stderr.contains("--password-stdin"),
            "{}",
            refused.stderr
        );
        assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    }
    let piped = home
        .command(&["login", "r.example"])
        .stdin(Stdio::null())
        .output();
    let piped = Said::from_output(&piped.expect("run"));
    piped.assert_refused(&["is not a terminal", "--password-stdin"]);
    home.msb(&["logout", "owner"])
        .assert_refused(&["neither a dot nor a port"]);
}
