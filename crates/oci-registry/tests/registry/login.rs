//! Logins: the credential is checked, then kept where docker keeps it.

use std::sync::Arc;

use diagnosis::Diagnose as _;
use oci_registry::{Client, Credential, CredentialSource, LoginError, Registries, Registry};
use testkit::registry::{Answer, Server};

use crate::support::{line, quick};

async fn check(server: &Server, credential: Credential) -> Result<bool, LoginError> {
    let registry: Registry = server.address.to_string().parse().expect("a registry");
    let (registries, limits) = (Registries::default(), quick());
    let credentials = CredentialSource::Given(credential);
    let client = Client {
        plain_http: true,
        credentials: &credentials,
        registries: &registries,
        limits: &limits,
        listener: Arc::new(()),
    };
    registry.check(&client).await
}

fn password(word: &str) -> Credential {
    Registry::default()
        .credential("user", word)
        .expect("a credential")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_checked_by_the_registry_or_its_token_server() {
    let basic = Server::new(|request| {
        assert_eq!(request.path, "/v2/");
        match request.headers.get("authorization").map(String::as_str) {
            Some("Basic dXNlcjpwYXNz") => Answer::new(200, "{}"),
            _ => Answer::new(401, "").header("WWW-Authenticate", "Basic realm=x"),
        }
    })
    .await;
    let bearer = Server::new(|request| {
        let authorization = request.headers.get("authorization").map(String::as_str);
        if request.path.starts_with("/token") {
            assert!(!request.path.contains("scope"), "{}", request.path);
            return match authorization {
                Some("Basic dXNlcjpwYXNz") => Answer::new(200, r#"{"token":"t"}"#),
                _ => Answer::new(401, ""),
            };
        }
        match authorization {
            Some("Bearer t") => Answer::new(200, "{}"),
            _ => Answer::new(401, "").header(
                "WWW-Authenticate",
                format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]),
            ),
        }
    })
    .await;
    for server in [&basic, &bearer] {
        assert!(check(server, password("pass")).await.expect("accepted"));
        let error = check(server, password("wrong")).await.expect_err("refused");
        assert!(
            line(&error).contains("does not accept this user name and password"),
            "{}",
            line(&error)
        );
        let hint = error.diagnosis().advice().expect("a hint");
        assert!(hint.contains("access token"), "{hint}");
    }
    let open = Server::new(|_| Answer::new(200, "{}")).await;
    assert!(!check(&open, password("any")).await.expect("asked for none"));
    let other = Server::new(|_| Answer::new(404, "not here")).await;
    let error = check(&other, password("any"))
        .await
        .expect_err("no registry");
    assert!(matches!(error, LoginError::Registry { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_kept_in_the_config_and_removed_from_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = Some(directory.path());
    let registry: Registry = "ghcr.io".parse().expect("a registry");
    let stored = registry.keep(&password("pass"), at).await.expect("kept");
    let config = directory.path().join("config.json");
    assert_eq!(
        stored,
        oci_registry::StoredIn::File(config.canonicalize().expect("there"))
    );
    let text = fs_err::read_to_string(&config).expect("read");
    assert!(text.contains("dXNlcjpwYXNz"), "{text}");
    assert!(registry.forget(at).await.expect("removed"));
    assert!(!registry.forget(at).await.expect("none"));

    // A helper that does not exist keeps nothing, and the config stays as it is.
    let with_helper = r#"{"credsStore":"msb-has-no-such-helper","x":1}"#;
    fs_err::write(&config, with_helper).expect("written");
    for outcome in [
        registry.keep(&password("pass"), at).await.map(drop),
        registry.forget(at).await.map(drop),
    ] {
        let line = line(&outcome.expect_err("no helper"));
        assert!(line.contains("docker-credential-msb-has-no"), "{line}");
    }
    let text = fs_err::read_to_string(&config).expect("read");
    assert_eq!(text, with_helper);
}

#[tokio::test]
async fn the_helper_of_a_config_behind_a_symlink_is_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("docker.json");
    let with_helper = r#"{"credsStore":"msb-has-no-such-helper"}"#;
    fs_err::write(&target, with_helper).expect("written");
    let home = directory.path().join("home");
    fs_err::create_dir(&home).expect("made");
    fs_err::os::unix::fs::symlink(&target, home.join("config.json")).expect("linked");
    let registry: Registry = "ghcr.io".parse().expect("a registry");
    let kept = registry.keep(&password("pass"), Some(&home)).await;
    let line = line(&kept.expect_err("no helper"));
    assert!(line.contains("docker-credential-msb-has-no"), "{line}");
    let text = fs_err::read_to_string(&target).expect("read");
    assert_eq!(text, with_helper);
}
