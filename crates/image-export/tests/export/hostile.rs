//! Whole pushes to a registry that does everything wrong, for a while or for good. Nothing is half
//! published, and no credential reaches another host.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use image_export::LayerRoute;
use oci_registry::{Credential, CredentialSource};
use testkit::images::{Packing, TestImage, TestLayer};
use testkit::push_registry::PushRegistry;
use testkit::registry::{Answer, Content, Request, Server};

use crate::pushes::{TestStore, digest, routes};

/// The bytes of an upload that arrive before its connection breaks.
const CUT_BYTES: usize = 9_000;
/// The requests that a token is good for: more than those that are under way at once.
const TOKEN_USES: usize = 8;

/// The requests that a fault strikes.
type Strikes = fn(&Request) -> bool;

/// A registry that has an image in `library/base`, and does everything wrong: it lends no layer, asks
/// for patience, forgets tokens, leads uploads to another host, and breaks them off there.
struct Hostile {
    registry: Arc<PushRegistry>,
    server: Server,
    elsewhere: Server,
}

/// The number of requests that used each token.
#[derive(Default)]
struct Tokens(Mutex<Vec<usize>>);

impl Tokens {
    fn next(&self) -> Answer {
        let mut uses = self.0.lock().expect("a list");
        uses.push(0);
        Answer::new(200, format!(r#"{{"token":"t{}"}}"#, uses.len() - 1))
    }

    fn accepts(&self, request: &Request) -> bool {
        let mut uses = self.0.lock().expect("a list");
        let authorization = request.headers.get("authorization");
        let number = authorization.and_then(|it| it.strip_prefix("Bearer t")?.parse().ok());
        let Some(used) = number.and_then(|number: usize| uses.get_mut(number)) else {
            return false;
        };
        *used += 1;
        *used <= TOKEN_USES
    }
}

impl Hostile {
    /// Starts it. The requests that `denied` strikes are answered by 429 each time, and the uploads
    /// elsewhere that `lost` strikes by 404.
    async fn start(image: &TestImage, denied: Strikes, lost: Strikes) -> Self {
        let registry = Arc::new(PushRegistry::default());
        let inner = Arc::clone(&registry);
        let broken = |request: &Request| (request.method == "PATCH").then_some(CUT_BYTES);
        let elsewhere = Server::cutting(broken, move |request| {
            if lost(request) {
                return Answer::new(404, r#"{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}"#);
            }
            inner.answer(request)
        })
        .await;
        let (inner, there) = (Arc::clone(&registry), elsewhere.address);
        let base = Content::from_image(image);
        let (tokens, patience) = (Tokens::default(), Mutex::new(BTreeSet::new()));
        let server = Server::new(move |request| {
            if request.path.starts_with("/token") {
                return match request.headers.get("authorization").map(String::as_str) {
                    Some("Basic dXNlcjpwYXNz") => tokens.next(),
                    _ => Answer::new(401, ""),
                };
            }
            if request.method == "GET" && request.path.starts_with("/v2/library/base/") {
                return base.answer(request);
            }
            if !tokens.accepts(request) {
                let realm = format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]);
                return Answer::new(401, "").header("WWW-Authenticate", realm);
            }
            let call = format!("{} {}", request.method, request.path);
            let is_first = patience.lock().expect("a set").insert(call);
            if is_first || denied(request) {
                return Answer::new(429, "").header("Retry-After", "0");
            }
            if request.path.contains("mount=") {
                return Answer::new(403, "");
            }
            let answer = inner.answer(request);
            lead_to(answer, &there.to_string())
        })
        .await;
        Self {
            registry,
            server,
            elsewhere,
        }
    }

    /// Pulls the image and pushes it to `team/app:1`.
    async fn push(&self) -> Result<image_export::Pushed, image_export::PushError> {
        let store = TestStore::new();
        let stored = store
            .pull(&self.server.reference("library/base:latest"))
            .await;
        let credentials = CredentialSource::Given(Credential::Password {
            username: "user".to_owned(),
            password: "pass".to_owned(),
        });
        let name = self.server.reference("team/app:1");
        let pushed = store.push_as(&stored, &name, credentials).await;
        assert_eq!(store.unfinished(), 0);
        pushed
    }

    /// Checks that the password went to the token server alone, and nothing to the other host.
    fn expect_no_leak(&self, name: &str) {
        assert!(!self.elsewhere.saw_credentials(), "{name}");
        for request in self.server.requests() {
            let authorization = request.headers.get("authorization");
            let has_password = authorization.is_some_and(|it| it.starts_with("Basic"));
            let is_token = request.path.starts_with("/token");
            assert!(!has_password || is_token, "{name}: {}", request.path);
        }
    }
}

/// Makes the Location of an upload one of another host.
fn lead_to(mut answer: Answer, host: &str) -> Answer {
    for (name, value) in &mut answer.headers {
        if name == "Location" && value.contains("/uploads/") {
            *value = format!("http://{host}{value}");
        }
    }
    answer
}

fn image() -> TestImage {
    let noise: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    TestImage::new(vec![
        TestLayer::new(&[("first", &noise)], Packing::Plain),
        TestLayer::new(&[("second", &noise[..30_000])], Packing::Gzip),
        TestLayer::new(&[("third", b"3")], Packing::Plain),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_does_everything_wrong_for_a_while_gets_the_image() {
    let image = image();
    let hostile = Hostile::start(&image, |_| false, |_| false).await;
    let pushed = hostile.push().await.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Streamed; 3]);
    assert_eq!(pushed.manifest_digest, digest(&image));
    let published = hostile.registry.manifest("team/app", "1");
    assert_eq!(published.as_deref(), Some(&image.manifest[..]));
    let (sent, seen) = (hostile.elsewhere.requests(), hostile.server.requests());
    let breaks = sent.iter().filter(|request| !request.is_whole).count();
    assert!(
        breaks >= image.layers[0].blob.len() / CUT_BYTES,
        "{breaks} breaks"
    );
    let tokens = seen.iter().filter(|it| it.path.starts_with("/token"));
    assert!(tokens.count() > 1, "no token was forgotten");
    assert!(seen.iter().any(|request| request.path.contains("mount=")));
    hostile.expect_no_leak("for a while");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_does_something_wrong_for_good_publishes_nothing() {
    let never: Strikes = |_| false;
    let cases: [(&str, Strikes, Strikes); 5] = [
        (
            "no upload begins",
            |request| request.method == "POST",
            never,
        ),
        (
            "no manifest is taken",
            |request| request.path.contains("/manifests/"),
            never,
        ),
        ("everything waits", |_| true, never),
        ("uploads are lost", never, |request| {
            request.method == "PATCH"
        }),
        ("no upload is completed", never, |request| {
            request.method == "PUT"
        }),
    ];
    let image = image();
    for (name, denied, lost) in cases {
        let hostile = Hostile::start(&image, denied, lost).await;
        let error = hostile.push().await.expect_err(name);
        assert!(!error.to_string().is_empty(), "{name}");
        assert_eq!(hostile.registry.manifest_count(), 0, "{name}");
        hostile.expect_no_leak(name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_loses_each_answer_once_publishes_one_whole_image() {
    let image = image();
    let store = TestStore::new();
    let origin = Server::honest(Content::from_image(&image)).await;
    let stored = store.pull(&origin.reference("app")).await;
    // The answer to this request is lost, though the registry has done what it asked for.
    let mut lost = 0;
    loop {
        let registry = Arc::new(PushRegistry::default());
        let (inner, count) = (Arc::clone(&registry), AtomicUsize::new(0));
        let server = Server::new(move |request| {
            let answer = inner.answer(request);
            if count.fetch_add(1, Ordering::Relaxed) == lost {
                return Answer::raw("");
            }
            answer
        })
        .await;
        let pushed = store.push(&stored, &server.reference("app:1")).await;
        let published = registry.manifest("app", "1");
        match pushed {
            Ok(pushed) => assert_eq!(pushed.manifest_digest, digest(&image), "answer {lost}"),
            Err(error) => panic!("answer {lost}: {error}"),
        }
        assert_eq!(
            published.as_deref(),
            Some(&image.manifest[..]),
            "answer {lost}"
        );
        if server.requests().len() <= lost {
            break;
        }
        lost += 1;
    }
    assert!(lost > 10, "{lost} answers were lost");
}
