//! Images leave the store as archives that other programs read, get names, and tell their history.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oci_image::Digest;
use serde_json::{Value, json};
use testkit::{TarBuilder, TarEntry};

use crate::support::{Said, TestHome, host_architecture, tar};

/// Returns a home with the image `app:dev` of two layers, and the tars of the layers.
fn with_image() -> (TestHome, [Vec<u8>; 2]) {
    let home = TestHome::new();
    let noise: Vec<u8> = (0..50_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let base = TarBuilder::archive([
        TarEntry::directory("bin").mode(0o755),
        TarEntry::file("bin/sh", &noise).mode(0o755),
        TarEntry::hardlink("bin/ash", "bin/sh"),
        TarEntry::file("gone", b"soon"),
    ]);
    let top = TarBuilder::archive([
        TarEntry::file(".wh.gone", b""),
        TarEntry::symlink("link", "bin/sh"),
        TarEntry::file("twice", b"first"),
        TarEntry::file("twice", b"second"),
    ]);
    let digests = [&base, &top].map(|layer| Digest::compute(layer).to_string());
    let config = json!({
        "architecture": host_architecture(),
        "os": "linux",
        "created": "2020-01-02T00:00:00Z",
        "config": {"Cmd": ["/bin/sh"], "Labels": {"b": "2", "a": "1"}},
        "history": [
            {"created": "2020-01-01T00:00:00Z", "created_by": "COPY base /"},
            {"created_by": "ENV A=1", "empty_layer": true},
            {"created_by": "RUN change\n\u{1b}[31m", "comment": "buildkit"},
        ],
        "rootfs": {"type": "layers", "diff_ids": digests},
    });
    let manifest = json!([{"Config": "c.json", "RepoTags": ["app:dev"], "Layers": ["1", "2"]}]);
    let archive = tar(&[
        ("manifest.json", manifest.to_string().into_bytes()),
        ("c.json", config.to_string().into_bytes()),
        ("1", base.clone()),
        ("2", top.clone()),
    ]);
    let path = home.path().join("image.tar");
    fs::write(&path, archive).expect("written");
    done(home.msb(&["load", "-q", text(&path)]));
    (home, [base, top])
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[track_caller]
fn done(said: Said) -> String {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stdout
}

/// Saves `app:dev` with these options.
fn saved(home: &TestHome, name: &str, options: &[&str]) -> PathBuf {
    let path = home.path().join(name);
    let arguments = [&["save", "-o", text(&path)], options, &["app:dev"]].concat();
    done(home.msb(&arguments));
    path
}

fn inspected(home: &TestHome, name: &str) -> Value {
    let shown = done(home.msb(&["image", "inspect", name]));
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    match shown {
        Value::Array(mut images) => images.remove(0),
        image => image,
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program} must be installed: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
}

/// Returns the config of the only image of an OCI layout, and the content of its layers.
fn of_layout(layout: &Path) -> (Vec<u8>, Vec<PathBuf>) {
    let blob = |digest: &Value| {
        let digest = digest.as_str().expect("a digest");
        let hex = digest.strip_prefix("sha256:").expect("SHA-256");
        layout.join("blobs/sha256").join(hex)
    };
    let read = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON")
    };
    let index = read(&layout.join("index.json"));
    let manifest = read(&blob(&index["manifests"][0]["digest"]));
    let config = fs::read(blob(&manifest["config"]["digest"])).expect("read");
    let layers = manifest["layers"].as_array().expect("a list");
    let layers = layers.iter().map(|layer| blob(&layer["digest"]));
    (config, layers.collect())
}

#[test]
fn oracle_skopeo_reads_every_archive_as_the_same_image() {
    let (home, tars) = with_image();
    let config_digest = inspected(&home, "app:dev")["config_digest"].clone();
    let cases: [(&str, &str, &[&str]); 4] = [
        ("docker.tar", "docker-archive", &[]),
        ("oci.tar", "oci-archive", &["--format", "oci-archive"]),
        (
            "zstd.tar",
            "oci-archive",
            &["--format", "oci-archive", "--compression", "zstd"],
        ),
        (
            "plain",
            "oci",
            &["--format", "oci-dir", "--compression", "none"],
        ),
    ];
    for (name, transport, options) in cases {
        let path = saved(&home, name, options);
        let copy = home.path().join(format!("{name}.copy"));
        run(
            "skopeo",
            &[
                "--insecure-policy",
                "copy",
                "--quiet",
                "--dest-decompress",
                &format!("{transport}:{}", text(&path)),
                &format!("dir:{}", text(&copy)),
            ],
        );
        let manifest = fs::read(copy.join("manifest.json")).expect("read");
        let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
        assert_eq!(manifest["config"]["digest"], config_digest, "{name}");
        for (layer, tar) in manifest["layers"]
            .as_array()
            .expect("a list")
            .iter()
            .zip(&tars)
        {
            let digest = layer["digest"].as_str().expect("a digest");
            assert_eq!(digest, Digest::compute(tar).to_string(), "{name}");
        }
    }
}

#[test]
fn oracle_umoci_unpacks_a_saved_layout() {
    let (home, _) = with_image();
    let layout = saved(&home, "layout", &["--format", "oci-dir"]);
    let bundle = home.path().join("bundle");
    let image = format!("{}:dev", text(&layout));
    run(
        "umoci",
        &["unpack", "--rootless", "--image", &image, text(&bundle)],
    );
    let root = bundle.join("rootfs");
    assert!(root.join("bin/ash").is_file() && !root.join("gone").exists());
    assert_eq!(fs::read(root.join("twice")).expect("read"), b"second");
}

#[test]
fn a_saved_image_is_the_same_in_another_home() {
    let (home, _) = with_image();
    let before = inspected(&home, "app:dev");
    for (name, options) in [
        ("docker.tar", &[][..]),
        ("oci.tar", &["--format", "oci-archive"]),
        ("layout", &["--format", "oci-dir", "--compression", "zstd"]),
    ] {
        let path = saved(&home, name, options);
        let other = TestHome::new();
        done(other.msb(&["load", "-q", text(&path)]));
        let after = inspected(&other, "app:dev");
        for key in [
            "config_digest",
            "chain_key",
            "config",
            "layer_artifacts",
            "fsmeta_artifact",
            "vmdk_artifact",
        ] {
            assert_eq!(after[key], before[key], "{name}: {key}");
        }
        if name == "docker.tar" {
            assert_eq!(after["manifest_digest"], before["manifest_digest"]);
        }
        // An archive that was saved from the other home has the same bytes.
        if path.is_file() {
            let again = saved(&other, "again", options);
            assert!(fs::read(&again).expect("read") == fs::read(&path).expect("read"));
        }
    }
}

#[test]
fn layers_are_the_very_tars() {
    let (home, tars) = with_image();
    let layout = saved(
        &home,
        "layout",
        &["--format", "oci-dir", "--compression", "none"],
    );
    let (config, layers) = of_layout(&layout);
    assert!(String::from_utf8_lossy(&config).contains("buildkit"));
    for (layer, tar) in layers.iter().zip(&tars) {
        assert!(fs::read(layer).expect("read") == *tar);
    }
}

#[test]
fn an_archive_is_complete_or_unchanged() {
    let (home, _) = with_image();
    let path = home.path().join("app.tar");
    fs::write(&path, b"before").expect("written");
    let refused = home.msb(&["save", "-o", text(&path), "app:dev", "nosuch"]);
    refused.assert_refused(&["cannot save the image", "'nosuch' is not in the store"]);
    assert_eq!(fs::read(&path).expect("read"), b"before");
    // A layer whose content changed does not give its tar.
    let layer = inspected(&home, "app:dev")["layers"][0].clone();
    let layer = layer.as_str().expect("a path").to_owned();
    let mut bytes = fs::read(&layer).expect("read");
    bytes[4096] ^= 1;
    fs::write(&layer, bytes).expect("written");
    let refused = home.msb(&["save", "-o", text(&path), "app:dev"]);
    refused.assert_refused(&["do not give its tar"]);
    refused.assert_hint("msb image verify --repair");
    assert_eq!(fs::read(&path).expect("read"), b"before");
    let taken = home.msb(&["save", "--format", "oci-dir", "-o", text(&path), "app:dev"]);
    taken.assert_refused(&["already exists"]);
    let compressed = home.msb(&["save", "--compression", "zstd", "app:dev"]);
    compressed.assert_refused(&["--compression cannot be given with a docker-archive"]);
    let directory = home.msb(&["save", "--format", "oci-dir", "app:dev"]);
    directory.assert_refused(&["cannot be written to standard output"]);
    let left = fs::read_dir(home.path()).expect("listed");
    let left = left.map(|entry| entry.expect("an entry").file_name());
    let hidden = left.filter(|name| name.to_string_lossy().starts_with(".new"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn an_archive_is_piped() {
    let (home, _) = with_image();
    let path = saved(&home, "app.tar", &[]);
    let piped = home
        .command(&["save", "app:dev"])
        .output()
        .expect("started");
    assert!(piped.status.success());
    assert!(piped.stdout == fs::read(&path).expect("read"));
}

#[test]
fn a_further_name_leads_to_the_image() {
    let (home, _) = with_image();
    assert_eq!(
        done(home.msb(&["tag", "app:dev", "example.org/team/app:1"])),
        ""
    );
    let first = inspected(&home, "app:dev");
    let digest = first["manifest_digest"].as_str().expect("a digest");
    done(home.msb(&["tag", digest, "app"]));
    let names = done(home.msb(&["images", "--format", "{{.Repository}}:{{.Tag}}"]));
    assert_eq!(names, "app:dev\napp:latest\nexample.org/team/app:1\n");
    let path = home.path().join("named.tar");
    done(home.msb(&["save", "-o", text(&path), "app", "app:dev"]));
    let other = TestHome::new();
    done(other.msb(&["load", "-q", text(&path)]));
    let names = done(other.msb(&["images", "--format", "{{.Repository}}:{{.Tag}}"]));
    assert_eq!(names, "app:dev\napp:latest\n");
    home.msb(&["tag", "nosuch", "b"])
        .assert_refused(&["'nosuch' is not in the store"]);
    home.msb(&["tag", "app", "Not A Name"])
        .assert_refused(&["cannot be the name"]);
    let by_digest = format!("a@{digest}");
    home.msb(&["tag", "app", &by_digest])
        .assert_refused(&["must not contain a digest"]);
}

#[test]
fn the_history_is_the_configs() {
    let (home, tars) = with_image();
    let shown = done(home.msb(&["history", "--format", "json", "app:dev"]));
    let steps: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(steps.as_array().map(Vec::len), Some(3));
    assert_eq!(
        steps[0]["diff_id"],
        json!(Digest::compute(&tars[1]).to_string())
    );
    assert_eq!(steps[0]["comment"], json!("buildkit"));
    assert_eq!(steps[1]["diff_id"], Value::Null);
    assert_eq!(steps[1]["size_bytes"], json!(0));
    assert_eq!(steps[2]["created"], json!("2020-01-01T00:00:00Z"));
    let table = done(home.msb(&["history", "--no-trunc", "app:dev"]));
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("RUN change\\n\\u{1b}[31m"), "{table}");
    let layers = done(home.msb(&["history", "-q", "app:dev"]));
    assert_eq!(layers.lines().count(), 2, "{layers}");
}
