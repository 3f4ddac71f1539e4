//! Challenges, token servers and credentials.

use super::{BASIC, Scenario, is_blob, is_manifest, play, pulled, refused};
use crate::server::{Answer, Request};

/// Answers 401 with this challenge, in which `HOST` and `OTHER` stand for addresses.
fn challenge(request: &Request, other: &str, text: &str) -> Answer {
    let host = &request.headers["host"];
    let text = text.replace("HOST", host).replace("OTHER", other);
    Answer::new(401, "").header("WWW-Authenticate", text)
}

fn has(request: &Request, value: &str) -> bool {
    request
        .headers
        .get("authorization")
        .is_some_and(|it| it == value)
}

const USUAL: &str =
    r#"Bearer realm="http://HOST/token",service="here",scope="repository:app:pull""#;

/// Returns a registry with this challenge, whose token server gives this answer; the token is
/// `good`.
fn tokens(
    text: &'static str,
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    move |request, honest, other| match request.path.as_str() {
        path if path.starts_with("/token") => answer(request),
        _ if has(request, "Bearer good") => honest,
        _ => challenge(request, other, text),
    }
}

fn good(_: &Request) -> Answer {
    Answer::new(200, r#"{"token":"good"}"#)
}

fn body(text: &'static str) -> impl Fn(&Request) -> Answer + Send + Sync + 'static {
    move |_| Answer::new(200, text)
}

/// Returns the token to a client that sends the password.
fn strict(request: &Request) -> Answer {
    if has(request, BASIC) {
        return good(request);
    }
    Answer::new(
        401,
        "{\"errors\":[{\"code\":\"UNAUTHORIZED\",\"message\":\"who\\u001b[2J\"}]}",
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_are_met_with_the_right_credentials() {
    let basic = |request: &Request, honest: Answer, other: &str| {
        if has(request, BASIC) {
            return honest;
        }
        challenge(request, other, r#"Basic realm="x""#)
    };
    play(vec![
        pulled("Basic with a password", basic).password(),
        refused("Basic without a password", "denies access", basic),
        refused("Basic with an identity token", "denies access", basic).identity_token(),
        pulled("Bearer as nobody", tokens(USUAL, good)),
        pulled(
            "access_token",
            tokens(USUAL, body(r#"{"access_token":"good"}"#)),
        ),
        pulled(
            "token before access_token",
            tokens(USUAL, body(r#"{"access_token":"x","token":"good"}"#)),
        ),
        pulled(
            "empty token beside access_token",
            tokens(USUAL, body(r#"{"token":"","access_token":"good"}"#)),
        ),
        pulled(
            "more members than known",
            tokens(
                USUAL,
                body(r#"{"token":"good","expires_in":-1,"issued_at":"never"}"#),
            ),
        ),
        pulled("Bearer with a password", tokens(USUAL, strict)).password(),
        refused(
            "Bearer that wants a password",
            "who\\u{1b}[2J",
            tokens(USUAL, strict),
        ),
        pulled(
            "identity token",
            tokens(USUAL, |request| {
                let is_right = request.body.contains("refresh_token=refresh")
                    && request.body.contains("grant_type=refresh_token")
                    && !request.path.contains("refresh");
                if is_right {
                    good(request)
                } else {
                    Answer::new(400, "")
                }
            }),
        )
        .identity_token(),
        pulled(
            "Basic and Bearer in one header",
            tokens(r#"Basic realm="x", Bearer realm="http://HOST/token""#, good),
        ),
        pulled(
            "an unknown scheme before",
            tokens(r#"Negotiate, Bearer realm="http://HOST/token""#, good),
        ),
        pulled(
            "lower case and no quotes",
            tokens("bearer realm=http://HOST/token", good),
        ),
        pulled("two headers", |request, honest, other| {
            let inner = tokens(USUAL, good)(request, honest, other);
            if inner.status == 401 {
                inner.header("WWW-Authenticate", "Basic")
            } else {
                inner
            }
        }),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn realms_that_trick_are_seen_through() {
    let mut scenarios: Vec<Scenario> = [
        ("no realm", "Bearer service=\"x\"", "denies access"),
        (
            "an empty realm",
            "Bearer realm=\"\"",
            "is not a valid address",
        ),
        (
            "a relative realm",
            "Bearer realm=\"/token\"",
            "is not a valid address",
        ),
        (
            "a realm that is a file",
            "Bearer realm=\"file:///etc/passwd\"",
            "is not a valid address",
        ),
        (
            "a realm of another scheme",
            "Bearer realm=\"gopher://HOST/\"",
            "is not a valid address",
        ),
        (
            "a realm that is no address",
            "Bearer realm=\"http://[\"",
            "is not a valid address",
        ),
        (
            "a realm with a bad port",
            "Bearer realm=\"http://HOST99999/\"",
            "is not a valid address",
        ),
        ("an unknown scheme", "Negotiate", "denies access"),
        (
            "a realm on another host in plain text",
            "Bearer realm=\"http://localhost:1/token\"",
            "which is not encrypted",
        ),
    ]
    .into_iter()
    .map(|(name, text, words)| refused(name, words, tokens(text, body("{}"))).password())
    .collect();
    scenarios.extend([
        refused("no challenge", "denies access", |_, _, _| Answer::new(401, "")),
        refused("ten thousand commas", "denies access", |request, _, other| {
            challenge(request, other, &",".repeat(10_000))
        }),
        refused("a realm of 60 kB that is too long", "answers 414", |request, _, other| {
            if request.path.starts_with("/token") {
                return Answer::new(414, "");
            }
            let realm = format!("Bearer realm=\"http://HOST/token{}\"", "x".repeat(60_000));
            challenge(request, other, &realm)
        }),
        pulled("a realm with a user", tokens(r#"Bearer realm="http://u:p@HOST/token""#, |request| {
            let is_clean = !request.headers.contains_key("authorization");
            if is_clean { good(request) } else { Answer::new(400, "") }
        })),
        pulled("a realm with encoded line breaks", tokens(r#"Bearer realm="http://HOST/token%0d%0aX-Evil:1""#, |request| {
            let is_clean = !request.headers.contains_key("x-evil");
            if is_clean { good(request) } else { Answer::new(400, "") }
        })),
        pulled("a realm and a scope of others' rights", tokens(
            r#"Bearer realm="http://HOST/token?scope=repository:victim:push&service=evil&a=b",scope="repository:victim:pull""#,
            |request| {
                let is_own = !request.path.contains("victim")
                    && request.path.contains("a=b")
                    && request.path.contains("scope=repository%3Aapp%3Apull");
                if is_own { good(request) } else { Answer::new(400, "") }
            },
        )),
        pulled("an unclosed quote", tokens("Bearer realm=\"http://HOST/token", good)),
        refused("a token server that sends the password elsewhere", "cannot use the token", |request, _, other| {
            if request.path.starts_with("/token") {
                let there = format!("http://{other}/v2/app/manifests/latest");
                return Answer::new(307, "").header("Location", there);
            }
            challenge(request, other, USUAL)
        })
        .password(),
        refused("a token server that sends an identity token elsewhere", "would pass on credentials", |request, _, other| {
            if request.path.starts_with("/token") {
                let there = format!("http://{other}/token");
                return Answer::new(307, "").header("Location", there);
            }
            challenge(request, other, USUAL)
        })
        .identity_token(),
    ]);
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_fail_are_asked_for_again_or_refused() {
    let once = |status: u16| {
        tokens(USUAL, move |request| match request.earlier {
            0 => Answer::new(status, "").header("Retry-After", "0"),
            _ => good(request),
        })
    };
    let mut scenarios: Vec<Scenario> = [
        r#"{"token":"a\r\nX-Evil: b"}"#,
        r#"{"token":"a\u0000b"}"#,
        "{}",
        "",
        "null",
        "[]",
        r#"{"token":7}"#,
        r#"{"token":null}"#,
        "<html>",
        "\u{feff}{\"token\":\"good\"}",
    ]
    .into_iter()
    .map(|text| {
        refused(
            &format!("token {text}"),
            "cannot use the token",
            tokens(USUAL, body(text)),
        )
    })
    .collect();
    scenarios.extend([
        refused(
            "an endless token",
            "more than 1048576 bytes",
            tokens(USUAL, |_| Answer::new(200, vec![b' '; 65_536]).endless()),
        ),
        refused(
            "a token that is refused",
            "denies access",
            tokens(USUAL, |_| Answer::new(403, "x")),
        ),
        refused(
            "a token server that fails",
            "answers 500 for a token",
            tokens(USUAL, |_| Answer::new(500, "")),
        ),
        refused(
            "a token server without tokens",
            "answers 404 for a token",
            tokens(USUAL, |_| Answer::new(404, "")),
        ),
        pulled("a token server that is busy once", once(429)),
        pulled("a token server that is down once", once(503)),
        pulled(
            "a token that runs out before each blob",
            |request, honest, other| {
                let is_stale = is_blob(request) && request.earlier == 0;
                if is_stale {
                    challenge(request, other, USUAL)
                } else {
                    tokens(USUAL, good)(request, honest, other)
                }
            },
        ),
        refused(
            "a token that is never good",
            "denies access",
            |request, _, other| {
                if request.path.starts_with("/token") {
                    good(request)
                } else {
                    challenge(request, other, USUAL)
                }
            },
        )
        .most_requests(3),
        refused(
            "a blob that is always refused",
            "denies access",
            |request, honest, other| {
                if request.path.starts_with("/token") {
                    return good(request);
                }
                if is_manifest(request) {
                    honest
                } else {
                    challenge(request, other, USUAL)
                }
            },
        )
        .most_requests(6),
        refused(
            "a forbidden manifest",
            ":latest': no\\u{1b}[31m",
            |_, _, _| {
                Answer::new(
                    403,
                    "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"no\\u001b[31m\"}]}",
                )
            },
        )
        .most_requests(1),
    ]);
    play(scenarios).await;
}
