//! Manifests and indexes that are too long, contradict themselves, or are of another kind.

use oci_image::Digest;
use serde_json::{Value, json};

use super::{
    Scenario, is_manifest, play, pulled, pulled_content, refused, refused_content, sample,
};
use crate::images::{INDEX, MANIFEST, TestImage, descriptor, host_architecture, platform_entry};
use crate::server::{Answer, Content};

/// Returns the sample with one change to its manifest.
fn changed(change: impl FnOnce(&mut Value)) -> Content {
    Content::from_image(&sample().clone().with_manifest(change))
}

/// Returns the blobs of the sample, with this text as the manifest.
fn text(text: impl Into<Vec<u8>>) -> Content {
    Content::from_image(sample()).tagged("latest", MANIFEST, &text.into())
}

fn index(entries: &Value) -> Content {
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    Content::from_image(sample()).tagged("latest", INDEX, index.to_string().as_bytes())
}

/// Returns the sample inside this many nested indexes.
fn nested(depth: usize) -> Content {
    let mut content = Content::from_image(sample());
    let mut inner = platform_entry(sample(), host_architecture());
    let mut bytes = Vec::new();
    for _ in 0..depth {
        let document = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [inner]});
        bytes = document.to_string().into_bytes();
        content = content.tagged(&Digest::compute(&bytes).to_string(), INDEX, &bytes);
        inner = descriptor(INDEX, &bytes);
    }
    content.tagged("latest", INDEX, &bytes)
}

fn manifest_text() -> String {
    String::from_utf8(sample().manifest.clone()).expect("JSON")
}

/// Returns the manifest with an additional first member.
fn with_member(member: &str) -> Content {
    text(manifest_text().replacen('{', &format!("{{{member},"), 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_of_documents_are_bounded() {
    let padded = |bytes: usize| {
        changed(|manifest| {
            manifest["annotations"] = json!({"padding": "x".repeat(bytes)});
        })
    };
    play(vec![
        refused("an endless manifest", "image-document=8MiB", |_, _, _| {
            Answer::new(200, vec![b' '; 65_536]).endless()
        }),
        refused_content("a manifest of 9 MiB", "image-document=8MiB", padded(9 << 20)),
        pulled_content("a manifest just under 4 MiB", padded((4 << 20) - 4096)),
        pulled_content("a manifest just under 8 MiB", padded((8 << 20) - 4096)),
        refused_content("901 layers", "901 layers", changed(|manifest| {
            manifest["layers"] = json!(vec![manifest["layers"][0].clone(); 901]);
        })),
        pulled_content("one index", nested(1)),
        pulled_content("eight indexes", nested(8)),
        refused_content("nine indexes", "image-indexes=8", nested(9)),
        refused_content("500 indexes", "image-indexes=8", nested(500)).most_requests(12),
        refused("an index that holds itself", "has digest", |request, honest, _| {
            if !is_manifest(request) { return honest; }
            let entry = json!({"mediaType": INDEX, "digest": Digest::compute(b"x").to_string(), "size": 200});
            let loops = json!({"schemaVersion": 2, "manifests": [entry]}).to_string();
            Answer::new(200, loops).header("Content-Type", INDEX)
        })
        .most_requests(3),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_what_they_say_or_refused() {
    let with_header = |name: &'static str, value: &'static str| {
        move |request: &crate::server::Request, honest: Answer, _: &str| {
            if !is_manifest(request) {
                return honest;
            }
            honest.without(name).header(name, value)
        }
    };
    let silent = |content_type: &str| {
        let manifest = sample().clone().with_manifest(|manifest| {
            manifest
                .as_object_mut()
                .expect("an object")
                .remove("mediaType");
        });
        Content::from_image(&manifest).tagged("latest", content_type, &manifest.manifest)
    };
    let schema1 =
        json!({"schemaVersion": 1, "name": "app", "tag": "latest", "fsLayers": [], "history": []});
    let wrong = format!("sha256:{}", "0".repeat(64));
    let wrong: &'static str = wrong.leak();
    play(vec![
        refused("another digest in the header", "the registry says sha256:000", with_header("Docker-Content-Digest", wrong)),
        pulled("nonsense for a digest in the header", with_header("Docker-Content-Digest", "../../etc/passwd")),
        pulled("another content type", with_header("Content-Type", "text/html; charset=utf-8")),
        pulled("a content type with parameters", with_header("Content-Type", "application/vnd.oci.image.manifest.v1+json; charset=x")),
        pulled_content("no media type in the document", silent(MANIFEST)),
        pulled_content("no media type anywhere", silent("application/json")),
        refused_content("a manifest called an index", "other members", silent(INDEX)),
        refused_content("a manifest that calls itself an index", "other members", changed(|manifest| {
            manifest["mediaType"] = json!(INDEX);
        })),
        refused_content("an unknown media type", "media type 'text/plain', which is not supported", changed(|manifest| {
            manifest["mediaType"] = json!("text/plain");
        })),
        refused_content("layers and manifests", "both layers and manifests", changed(|manifest| {
            manifest["manifests"] = json!([]);
        })),
        refused_content("neither layers nor manifests", "neither layers nor manifests", text(r#"{"schemaVersion":2}"#)),
        refused_content("layers without config", "other members", changed(|manifest| {
            manifest.as_object_mut().expect("an object").remove("config");
        })),
        refused_content("schema 1", "which is not supported", text(schema1.to_string())),
        refused_content("no schema version", "which is not supported", text(manifest_text().replacen("\"schemaVersion\"", "\"x\"", 1))),
        refused_content("an empty index", "no image for platform", index(&json!([]))),
        refused_content("an index for others", "linux/s390x", index(&json!([platform_entry(sample(), "s390x")]))),
        pulled_content("attestations beside the image", index(&json!([
            {"mediaType": MANIFEST, "digest": wrong, "size": 7,
             "platform": {"os": "unknown", "architecture": "unknown"},
             "annotations": {"vnd.docker.reference.type": "attestation-manifest"}},
            platform_entry(sample(), host_architecture()),
        ]))),
        refused_content("attestations alone", "no image for platform", index(&json!([
            {"mediaType": MANIFEST, "digest": wrong, "size": 7, "platform": {"os": "unknown", "architecture": "unknown"}},
        ]))),
        refused_content("a chart", "media type 'application/vnd.cncf.helm", changed(|manifest| {
            manifest["config"]["mediaType"] = json!("application/vnd.cncf.helm.config.v1+json");
        })),
        refused_content("an encrypted layer", "+encrypted', which is not supported", changed(|manifest| {
            manifest["layers"][0]["mediaType"] = json!("application/vnd.oci.image.layer.v1.tar+gzip+encrypted");
        })),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_readers_take_differently_is_refused() {
    let json_cases: [(&str, Vec<u8>); 9] = [
        ("an empty body", Vec::new()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a page", b"<!DOCTYPE html><html>login</html>".to_vec()),
        ("half a document", sample().manifest[..100].to_vec()),
        (
            "something after the document",
            [&sample().manifest[..], b"{}"].concat(),
        ),
        (
            "a byte order mark",
            [b"\xef\xbb\xbf", &sample().manifest[..]].concat(),
        ),
        (
            "UTF-16",
            manifest_text()
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
        ),
        (
            "bytes that are no text",
            manifest_text()
                .replace("sha256", "sha\u{1}")
                .into_bytes()
                .iter()
                .map(|byte| if *byte == 1 { 0xff } else { *byte })
                .collect(),
        ),
    ];
    let mut scenarios: Vec<Scenario> = json_cases
        .into_iter()
        .map(|(name, bytes)| refused_content(name, "cannot parse", text(bytes)))
        .collect();
    scenarios.extend([
        refused_content("layers twice", "cannot parse", with_member("\"layers\":[]")),
        refused_content(
            "config twice",
            "cannot parse",
            with_member("\"config\":null"),
        ),
        refused_content(
            "LAYERS beside layers",
            "differ only in case",
            with_member("\"LAYERS\":[]"),
        ),
        refused_content(
            "Config before config",
            "differ only in case",
            with_member("\"Config\":{}"),
        ),
        refused_content(
            "MediaType beside mediaType",
            "differ only in case",
            with_member("\"MediaType\":\"x\""),
        ),
        refused_content(
            "an escaped name that is one of ours",
            "cannot parse",
            with_member(r#""l\u0061yers":[]"#),
        ),
        refused_content(
            "a hundred thousand brackets",
            "cannot parse",
            with_member(&format!("\"x\":{}", "[".repeat(100_000))),
        ),
        refused_content(
            "a hundred thousand closed brackets in place of layers",
            "cannot parse",
            text(format!(
                "{{\"schemaVersion\":2,\"layers\":{}{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            )),
        ),
        pulled_content(
            "members that nobody knows",
            with_member("\"x\":[1e999999,{\"layers\":7}],\"\":\"\\ud83d\\ude00\""),
        ),
    ]);
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_are_checked_before_they_are_used() {
    let digests = [
        (
            "in capitals",
            format!("sha256:{}", "A".repeat(64)),
            "is not sha256:",
        ),
        (
            "of another name",
            format!("SHA256:{}", "a".repeat(64)),
            "is not supported",
        ),
        (
            "of MD5",
            format!("md5:{}", "a".repeat(32)),
            "'md5' is not supported",
        ),
        (
            "of SHA-512",
            format!("sha512:{}", "a".repeat(128)),
            "'sha512' is not supported",
        ),
        (
            "that climbs",
            "sha256:../../../../etc/passwd".to_owned(),
            "is not sha256:",
        ),
        (
            "that is a path",
            "../../../../etc/passwd".to_owned(),
            "is not sha256:",
        ),
        (
            "of 100 kB",
            format!("sha256:{}", "a".repeat(100_000)),
            "is not sha256:",
        ),
        ("that is empty", String::new(), "is not sha256:"),
        (
            "with a line break",
            format!("sha256:{}\n", "a".repeat(64)),
            "is not sha256:",
        ),
        ("with escapes", "sha256:\u{1b}[2J".to_owned(), "\\u{1b}[2J"),
    ];
    let mut scenarios = Vec::new();
    for (name, digest, words) in digests {
        for place in ["/config", "/layers/0"] {
            let content = changed(|manifest| {
                manifest.pointer_mut(place).expect("a place")["digest"] = json!(digest);
            });
            scenarios.push(
                refused_content(&format!("digest {name} in {place}"), words, content)
                    .most_requests(2),
            );
        }
        let entry = json!({"mediaType": MANIFEST, "digest": digest, "size": 7,
            "platform": {"os": "linux", "architecture": host_architecture()}});
        scenarios.push(
            refused_content(
                &format!("digest {name} in an index"),
                words,
                index(&json!([entry])),
            )
            .most_requests(2),
        );
    }
    let size = |place: &'static str, size: Value, words: &str| {
        let content = changed(|manifest| {
            manifest.pointer_mut(place).expect("a place")["size"] = size.clone()
        });
        refused_content(&format!("size {size} in {place}"), words, content)
    };
    let config_bytes = sample().config.len();
    scenarios.extend([
        size("/config", json!(config_bytes - 1), "more than"),
        size("/config", json!(config_bytes + 1), "its descriptor says"),
        size("/config", json!(0), "more than 0 bytes"),
        size("/config", json!(1_u64 << 62), "image-document=8MiB"),
        size("/config", json!(-1), "cannot parse"),
        size("/config", json!(1.5), "cannot parse"),
        size("/config", json!("7"), "cannot parse"),
        size("/layers/0", json!(7), "its descriptor says 7"),
        size(
            "/layers/0",
            json!(1_u64 << 62),
            "its descriptor says 4611686018427387904",
        ),
        size(
            "/layers/0",
            json!(u64::MAX),
            "its descriptor says 18446744073709551615",
        ),
        size("/layers/0", json!(-7), "cannot parse"),
        size("/layers/0", json!(1e30), "cannot parse"),
        size("/layers/0", Value::Null, "cannot parse"),
        pulled_content(
            "embedded data that is wrong",
            changed(|manifest| {
                manifest["config"]["data"] = json!("d3Jvbmc=");
                manifest["layers"][0]["data"] = json!("%%%");
            }),
        ),
    ]);
    for (delta, words) in [
        (-1_i64, "more than"),
        (1, "its descriptor says"),
        (1 << 61, "image-document=8MiB"),
    ] {
        let mut entry = platform_entry(sample(), host_architecture());
        entry["size"] = json!(entry["size"].as_i64().expect("a size") + delta);
        scenarios.push(refused_content(
            &format!("size {delta} off in an index"),
            words,
            index(&json!([entry])),
        ));
    }
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_in_the_name_is_what_comes() {
    let other = TestImage::for_architecture(Vec::new(), host_architecture());
    let digest = sample().digest();
    let lying =
        Content::from_image(sample()).tagged(&digest.to_string(), MANIFEST, &other.manifest);
    let sha512 = "sha512:".to_owned() + &"a".repeat(128);
    let with_sha512 = Content::from_image(sample()).tagged(&sha512, MANIFEST, &sample().manifest);
    play(vec![
        pulled_content("by digest", Content::from_image(sample()))
            .reference(&format!("app@{digest}")),
        pulled_content("by tag and digest", Content::from_image(sample()))
            .reference(&format!("app:gone@{digest}")),
        refused_content("another manifest", "expected sha256:", lying)
            .reference(&format!("app@{digest}")),
        refused_content("a wrong SHA-512", "expected sha512:aaa", with_sha512)
            .reference(&format!("app@{sha512}")),
        refused_content(
            "a digest that is not there",
            "has no image '",
            Content::from_image(sample()),
        )
        .reference(&format!("app@{sha512}")),
    ])
    .await;
}
