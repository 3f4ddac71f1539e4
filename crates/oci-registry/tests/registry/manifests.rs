//! Manifests, which make an image visible.

use testkit::registry::Answer;

use crate::support::{Target, line, noise};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn manifest_of(digests: &[&[u8]]) -> String {
    let layers: Vec<String> = digests
        .iter()
        .map(|bytes| format!(r#"{{"digest":"{}"}}"#, oci_image::Digest::compute(bytes)))
        .collect();
    format!(
        r#"{{"schemaVersion":2,"config":{},"layers":[{}]}}"#,
        layers[0],
        layers.join(",")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_is_stored_under_its_tag_and_digest() {
    let target = Target::honest().await;
    let layer = noise(1000);
    target.push(&layer).await.expect("pushed");
    let manifest = manifest_of(&[&layer]);
    let destination = target.destination().await;
    let put = destination.put_manifest("1", MANIFEST, manifest.as_bytes());
    let digest = put.await.expect("put");
    for version in ["1", &digest.to_string()] {
        let stored = target.registry.manifest("team/app", version);
        assert_eq!(stored.as_deref(), Some(manifest.as_bytes()), "{version}");
    }
    let requests = target.server.requests();
    let put = requests.last().expect("a request");
    assert_eq!(put.headers["content-type"], MANIFEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_is_refused_publishes_nothing_and_names_the_reason() {
    let target = Target::honest().await;
    let manifest = manifest_of(&[b"never pushed"]);
    let destination = target.destination().await;
    let put = destination.put_manifest("1", MANIFEST, manifest.as_bytes());
    let error = put.await.expect_err("refused");
    let line = line(&error);
    assert!(line.contains("blob unknown to registry"), "{line}");
    assert_eq!(target.registry.manifest_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_is_put_again_after_a_failure_and_its_digest_is_checked() {
    let target = Target::serving(|request, honest| {
        if request.path.contains("/manifests/") && request.earlier == 0 {
            return Answer::new(502, "");
        }
        honest()
    })
    .await;
    let layer = noise(1000);
    target.push(&layer).await.expect("pushed");
    let manifest = manifest_of(&[&layer]);
    let destination = target.destination().await;
    let put = destination.put_manifest("1", MANIFEST, manifest.as_bytes());
    put.await.expect("put");

    let lying = Target::serving(|_, _| {
        Answer::new(201, "").header(
            "Docker-Content-Digest",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        )
    })
    .await;
    let destination = lying.destination().await;
    let put = destination.put_manifest("1", MANIFEST, manifest.as_bytes());
    let error = put.await.expect_err("another digest");
    assert!(
        error.to_string().contains("says that it stored manifest"),
        "{error}"
    );
}
