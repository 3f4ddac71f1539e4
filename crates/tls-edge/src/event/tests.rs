use serde_json::json;

use super::*;
use crate::fixtures::name;

#[test]
fn a_path_loses_its_query_and_what_may_be_a_credential() {
    let token = "A".repeat(TOKEN_MIN);
    let short = "A".repeat(TOKEN_MIN - 1);
    for (path, logged) in [
        ("/".to_owned(), "/".to_owned()),
        ("/v1/messages?key=1".to_owned(), "/v1/messages".to_owned()),
        (format!("/bot12:{token}/send"), "/…/send".to_owned()),
        (format!("/a/{token}"), "/a/…".to_owned()),
        (format!("/x.{token}.y/b"), "/…/b".to_owned()),
        (format!("/{short}/b"), format!("/{short}/b")),
        ("//a//".to_owned(), "//a//".to_owned()),
        (
            "/google.cloud.aiplatform.v1.PredictionService/Predict".to_owned(),
            "/google.cloud.aiplatform.v1.PredictionService/Predict".to_owned(),
        ),
    ] {
        assert_eq!(logged_path(&path), logged);
    }
}

#[test]
fn texts_are_bounded() {
    let path = logged_path(&"/é".repeat(PATH_MAX));
    assert!(path.len() <= PATH_MAX && path.ends_with('…'), "{path}");
    assert_eq!(logged_host(&"h".repeat(HOST_MAX)).len(), HOST_MAX);
    assert!(logged_host(&"h".repeat(HOST_MAX + 1)).ends_with('…'));
    assert_eq!(logged_method("GET"), "GET");
    assert!(logged_method(&"G".repeat(1 << 16)).len() <= METHOD_MAX);
}

#[test]
fn events_have_the_names_of_the_log() {
    let http = HttpRecord {
        method: "GET".to_owned(),
        host: "a.example".to_owned(),
        path: "/".to_owned(),
        query: false,
        status: Some(200),
        sent: 1,
        received: 2,
        ms: 3,
        version: "h2".to_owned(),
        secrets: vec![name("K")],
        verdict: HttpVerdict::Allowed,
    };
    let refused = EdgeEvent::TlsRefused {
        sni: "a.example".to_owned(),
        alert: None,
    };
    for (event, expected) in [
        (
            EdgeEvent::Hello {
                sni: "a.example".to_owned(),
                ended: true,
            },
            json!({"event": "tls", "sni": "a.example", "ended": true}),
        ),
        (
            EdgeEvent::Http(http),
            json!({"event": "http", "method": "GET", "host": "a.example", "path": "/", "status": 200, "sent": 1,
                "received": 2, "ms": 3, "version": "h2", "secrets": ["K"], "verdict": "allowed"}),
        ),
        (
            EdgeEvent::SecretMisplaced {
                secret: name("K"),
                place: "path".to_owned(),
            },
            json!({"event": "secret.misplaced", "secret": "K", "place": "path"}),
        ),
        (refused, json!({"event": "tls.refused", "sni": "a.example"})),
    ] {
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
        assert_eq!(
            serde_json::from_value::<EdgeEvent>(expected).unwrap(),
            event
        );
    }
}
