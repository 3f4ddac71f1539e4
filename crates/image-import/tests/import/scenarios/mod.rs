//! Registries that misbehave in every known way. A scenario states the fault, and whether the image
//! is pulled all the same or refused with a certain error.

#![expect(
    clippy::too_many_lines,
    clippy::print_stdout,
    reason = "tables are long, and their figures are worth printing"
)]

mod auth;
mod blobs;
mod configs;
mod documents;
mod memory;
mod network;
mod ranges;
mod redirects;
mod secure;
mod statuses;
mod unreachable;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use image_import::PullOptions;
use oci_image::Digest;
use oci_registry::{Credential, CredentialSource};

use crate::images::{Packing, TestImage, TestLayer};
use crate::server::{Answer, Content, Request, Server};
use crate::support::{TestStore, assert_good, line, quick};

/// Files of these tests' sample image.
const FILES: [(&str, u64); 2] = [("first", 60_000), ("second", 6)];
/// Timeout of a scenario. Scenarios that wait have shorter timeouts.
const LONGEST: Duration = Duration::from_secs(300);

/// Answers a request, given the honest answer and the address of another server.
type Serve = dyn Fn(&Request, Answer, &str) -> Answer + Send + Sync;

enum Expected {
    Pulled,
    Refused(String),
}

/// A registry with one fault, and the expected result of a pull.
struct Scenario {
    name: String,
    reference: String,
    content: Content,
    options: PullOptions,
    serve: Arc<Serve>,
    expected: Expected,
    most_requests: usize,
}

fn scenario(
    name: &str,
    expected: Expected,
    serve: impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static,
) -> Scenario {
    Scenario {
        name: name.to_owned(),
        reference: "app".to_owned(),
        content: Content::from_image(sample()),
        options: quick(),
        serve: Arc::new(serve),
        expected,
        most_requests: 40,
    }
}

/// Returns a scenario that succeeds.
fn pulled(
    name: &str,
    serve: impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static,
) -> Scenario {
    scenario(name, Expected::Pulled, serve)
}

/// Returns a scenario that ends with an error of these words.
fn refused(
    name: &str,
    words: &str,
    serve: impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static,
) -> Scenario {
    scenario(name, Expected::Refused(words.to_owned()), serve)
}

/// Returns a scenario with an honest registry of dishonest content.
fn refused_content(name: &str, words: &str, content: Content) -> Scenario {
    refused(name, words, |_, honest, _| honest).content(content)
}

fn pulled_content(name: &str, content: Content) -> Scenario {
    pulled(name, |_, honest, _| honest).content(content)
}

impl Scenario {
    fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    fn reference(mut self, reference: &str) -> Self {
        reference.clone_into(&mut self.reference);
        self
    }

    fn password(mut self) -> Self {
        self.options.credentials = CredentialSource::Given(password());
        self
    }

    fn identity_token(mut self) -> Self {
        let token = Credential::IdentityToken("refresh".to_owned());
        self.options.credentials = CredentialSource::Given(token);
        self
    }

    fn idle(mut self, milliseconds: u64) -> Self {
        self.options.registry_limits.idle = Duration::from_millis(milliseconds);
        self
    }

    fn most_requests(mut self, most: usize) -> Self {
        self.most_requests = most;
        self
    }

    /// Runs the scenario. An error describes the difference from the expected result.
    async fn play(self) -> Result<(), String> {
        let content = self.content.clone();
        let other = Server::new(move |request| content.answer(request)).await;
        let (content, serve) = (self.content.clone(), Arc::clone(&self.serve));
        let address = other.address.to_string();
        let server = Server::new(move |request| {
            let honest = content.answer(request);
            serve(request, honest, &address)
        })
        .await;
        let (store, begun) = (TestStore::new(), Instant::now());
        let reference = server.reference(&self.reference);
        let outcome = store.pull_with(&reference, self.options).await;
        store.assert_tidy();
        let requests = server.requests().len() + other.requests().len();
        if requests > self.most_requests {
            return Err(format!("{requests} requests"));
        }
        if other.saw_credentials() {
            return Err("credentials went elsewhere".to_owned());
        }
        if begun.elapsed() > LONGEST {
            return Err(format!("{} s", begun.elapsed().as_secs()));
        }
        match (outcome, self.expected) {
            (Ok(image), Expected::Pulled) => {
                assert_good(&store.store, &image, &FILES);
                Ok(())
            }
            (Err(error), Expected::Refused(words)) => {
                let is_published =
                    |path: &String| path.starts_with("images/") || path.starts_with("refs/");
                if store.files().keys().any(is_published) {
                    return Err("something was published".to_owned());
                }
                check_line(&line(&error), &words)
            }
            (Ok(_), Expected::Refused(_)) => Err("it was pulled".to_owned()),
            (Err(error), Expected::Pulled) => Err(line(&error)),
        }
    }
}

/// Checks that an error is one short line, is safe for a terminal, and contains `words`.
fn check_line(line: &str, words: &str) -> Result<(), String> {
    if !line.contains(words) {
        return Err(format!("'{words}' is not in: {line}"));
    }
    if line.len() > 1500 || line.chars().any(char::is_control) {
        return Err(format!("not a line for a terminal: {line:?}"));
    }
    Ok(())
}

/// Runs all scenarios, several at a time.
async fn play(scenarios: Vec<Scenario>) {
    let count = scenarios.len();
    let turns = Arc::new(tokio::sync::Semaphore::new(8));
    let mut playing = tokio::task::JoinSet::new();
    for scenario in scenarios {
        let turns = Arc::clone(&turns);
        playing.spawn(async move {
            let _turn = turns.acquire_owned().await;
            let name = scenario.name.clone();
            scenario
                .play()
                .await
                .err()
                .map(|error| format!("{name}: {error}"))
        });
    }
    let wrong: Vec<String> = playing.join_all().await.into_iter().flatten().collect();
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{count} scenarios");
}

fn password() -> Credential {
    Credential::Password {
        username: "user".to_owned(),
        password: "pass".to_owned(),
    }
}

/// The password in the form of a header.
const BASIC: &str = "Basic dXNlcjpwYXNz";

fn sample() -> &'static TestImage {
    static SAMPLE: OnceLock<TestImage> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let mut state = 1_u32;
        let noise: Vec<u8> = (0..60_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect();
        TestImage::new(vec![
            TestLayer::new(&[("first", &noise)], Packing::Gzip),
            TestLayer::new(&[("second", b"second")], Packing::Plain),
        ])
    })
}

/// Returns the first layer of the sample, which the scenarios of blobs use.
fn layer() -> &'static [u8] {
    &sample().layers[0].blob
}

fn is_layer(request: &Request) -> bool {
    request
        .path
        .ends_with(&Digest::compute(layer()).to_string())
}

fn is_config(request: &Request) -> bool {
    request
        .path
        .ends_with(&Digest::compute(&sample().config).to_string())
}

fn is_manifest(request: &Request) -> bool {
    request.path.contains("/manifests/")
}

fn is_blob(request: &Request) -> bool {
    request.path.contains("/blobs/")
}
