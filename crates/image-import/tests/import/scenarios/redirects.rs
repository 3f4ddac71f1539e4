//! Redirects to other addresses.

use super::{BASIC, Scenario, is_blob, is_manifest, play, pulled, refused};
use crate::server::{Answer, Request};

/// Redirects requests for blobs. `OTHER` and `HOST` stand for addresses, `PATH` for the requested
/// path.
fn blobs_at(
    status: u16,
    location: &str,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    let location = location.to_owned();
    move |request, honest, other| {
        if !is_blob(request) {
            return honest;
        }
        let there = location
            .replace("OTHER", other)
            .replace("HOST", &request.headers["host"])
            .replace("PATH", &request.path);
        Answer::new(status, "").header("Location", there)
    }
}

/// Requires a password for the same answers; the other server must not get it.
fn behind_password(
    inner: impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    move |request, honest, other| match request.headers.get("authorization") {
        Some(sent) if sent == BASIC => inner(request, honest, other),
        _ => Answer::new(401, "").header("WWW-Authenticate", "Basic"),
    }
}

/// Answers every request after this many redirects on this server.
fn hops(count: usize) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    move |request, honest, _| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        if query.len() < count {
            let there = format!("{path}?{}", "x".repeat(query.len() + 1));
            return Answer::new(302, "").header("Location", there);
        }
        honest
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_without_credentials() {
    let mut scenarios: Vec<Scenario> = [301, 302, 303, 307, 308]
        .into_iter()
        .map(|status| {
            let serve = behind_password(blobs_at(status, "http://OTHERPATH"));
            pulled(&format!("{status} to another port"), serve).password()
        })
        .collect();
    scenarios.extend([
        pulled("ten redirects", hops(10)).most_requests(50),
        pulled("an address without scheme", blobs_at(307, "//OTHERPATH")),
        pulled(
            "an address with a user",
            behind_password(blobs_at(307, "http://u:p@OTHERPATH")),
        )
        .password(),
        pulled(
            "an address with a fragment",
            blobs_at(307, "http://OTHERPATH#there"),
        ),
        pulled("an address in capitals", blobs_at(307, "HTTP://OTHERPATH")),
        pulled("manifests elsewhere", |request, honest, other| {
            if !is_manifest(request) {
                return honest;
            }
            Answer::new(301, "").header("Location", format!("http://{other}{}", request.path))
        }),
        pulled(
            "a path on the same host, which sees the password again",
            behind_password(|request, honest, _| {
                if !is_blob(request) || request.path.contains("elsewhere") {
                    return honest;
                }
                let there = request.path.replace("/blobs/", "/elsewhere/../blobs/");
                if request.earlier > 0 {
                    return honest;
                }
                Answer::new(307, "").header("Location", there)
            }),
        )
        .password(),
    ]);
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_that_lead_astray_are_refused() {
    let mut scenarios: Vec<Scenario> = [
        ("a file", "file:///etc/passwd", "not an HTTP address"),
        (
            "a socket",
            "unix:///var/run/docker.sock",
            "not an HTTP address",
        ),
        ("FTP", "ftp://HOST/x", "not an HTTP address"),
        ("data", "data:text/plain,hello", "not an HTTP address"),
        ("a script", "javascript:alert(1)", "not an HTTP address"),
        ("no address", "http://[", "not a valid address"),
        (
            "a port that is none",
            "http://HOST99999/",
            "not a valid address",
        ),
        ("nothing", "", "more than 10 in a row"),
        (
            "where nobody listens",
            "http://127.0.0.1:1/x",
            "cannot reach registry 127.0.0.1:1",
        ),
        ("itself", "PATH", "more than 10 in a row"),
    ]
    .into_iter()
    .map(|(name, location, words)| {
        refused(
            &format!("a redirect to {name}"),
            words,
            blobs_at(307, location),
        )
    })
    .collect();
    scenarios.extend([
        refused("without Location", "has no Location", |_, _, _| {
            Answer::new(307, "")
        })
        .most_requests(1),
        refused("a hundred redirects", "more than 10 in a row", hops(100)).most_requests(11),
        refused("eleven redirects", "more than 10 in a row", hops(11)).most_requests(11),
        refused(
            "there and back without end",
            "more than 10 in a row",
            |request, _, _| {
                let there = if request.path.ends_with('a') {
                    "b"
                } else {
                    "a"
                };
                Answer::new(302, "").header("Location", there)
            },
        )
        .most_requests(11),
        refused(
            "an ever longer path",
            "more than 10 in a row",
            |request, _, _| Answer::new(302, "").header("Location", format!("{}/x", request.path)),
        )
        .most_requests(11),
    ]);
    play(scenarios).await;
}
