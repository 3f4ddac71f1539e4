//! The same images, unpacked by umoci as root.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{TarBuilder, TarEntry, TreeDump};

use crate::fixture::image;

/// Adds a blob to a layout and returns its descriptor.
fn blob(layout: &Path, media_type: &str, bytes: &[u8]) -> Value {
    let hex: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    fs::write(layout.join("blobs/sha256").join(&hex), bytes).expect("the blob is written");
    json!({
        "mediaType": format!("application/vnd.oci.image.{media_type}"),
        "digest": format!("sha256:{hex}"),
        "size": bytes.len(),
    })
}

fn write_layout(layout: &Path, tars: &[Vec<u8>]) {
    fs::create_dir_all(layout.join("blobs/sha256")).expect("the layout is made");
    fs::write(
        layout.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .expect("written");
    let layers: Vec<_> = tars
        .iter()
        .map(|tar| blob(layout, "layer.v1.tar", tar))
        .collect();
    let diff_ids: Vec<_> = layers.iter().map(|layer| &layer["digest"]).collect();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = blob(layout, "config.v1+json", config.to_string().as_bytes());
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
    let mut manifest = blob(layout, "manifest.v1+json", manifest.to_string().as_bytes());
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "test"});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(layout.join("index.json"), index.to_string()).expect("the index is written");
}

fn unpacked(tars: &[Vec<u8>]) -> TreeDump {
    let scratch = tempfile::tempdir().expect("there is room");
    let (layout, bundle) = (scratch.path().join("layout"), scratch.path().join("bundle"));
    write_layout(&layout, tars);
    let output = Command::new("umoci")
        .args(["unpack", "--image"])
        .arg(format!("{}:test", layout.display()))
        .arg(&bundle)
        .output()
        .expect("umoci is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "umoci, which needs root, failed: {message}"
    );
    TreeDump::from_directory(&bundle.join("rootfs")).expect("the bundle is readable")
}

fn assert_same(layers: &[&[TarEntry]]) {
    let tars: Vec<_> = layers
        .iter()
        .map(|layer| TarBuilder::archive(layer.iter().cloned()))
        .collect();
    assert_same_tars(&tars);
}

fn assert_same_tars(tars: &[Vec<u8>]) {
    let ours = image(tars).expect("the image is valid");
    let differences = ours.differences(&unpacked(tars));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn root() -> TarEntry {
    TarEntry::directory("./").mtime(1_000, 0)
}

fn file(path: &str) -> TarEntry {
    TarEntry::file(path, path).mtime(5, 7)
}

fn directory(path: &str) -> TarEntry {
    TarEntry::directory(path).mtime(6, 0)
}

#[test]
fn oracle_umoci_agrees_on_every_kind_of_file() {
    assert_same(&[&[
        root(),
        directory("d").mode(0o1777).owner(3, 4),
        file("d/suid").mode(0o4755).owner(1, 2),
        file("d/none").mode(0),
        file(&format!("d/{}", "n".repeat(255))),
        TarEntry::symlink("d/link", "suid").mtime(8, 0),
        TarEntry::hardlink("again", "d/suid")
            .mode(0o4755)
            .owner(1, 2)
            .mtime(5, 7),
        TarEntry::char_device("null", 1, 3).mtime(9, 0),
        TarEntry::new(b'4', "disk").mtime(9, 0),
        TarEntry::new(b'6', "pipe").mtime(10, 0),
        file("capable").xattr(
            "security.capability",
            b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ),
        file("noted").xattr("user.note", b"a\0b\nc"),
    ]]);
}

#[test]
fn oracle_umoci_agrees_on_what_go_makes_of_odd_archives() {
    let mut long = TarEntry::new(b'L', "././@LongLink");
    long.content = b"gnu\0".to_vec();
    let mut sized = TarEntry::directory("sized").mtime(6, 0).header(1 << 30);
    sized[124..136].copy_from_slice(&[0xff; 12]);
    TarBuilder::seal(&mut sized);
    let mut builder = TarBuilder::default();
    builder.entry(&root());
    builder
        .entry(&long)
        .entry(&file("header").record("path", "pax"));
    builder.block(&sized);
    builder.entry(&file("slash/"));
    builder.entry(&directory("d")).entry(&file("d/.wh..wh."));
    builder.entry(&directory("d").mtime(7, 0)).entry(&root());
    builder.entry(&file("last"));
    let mut tar = builder.unfinished();
    // This cuts the padding and the end of the archive.
    tar.truncate(tar.len() - 512 + b"last".len());
    assert_same_tars(&[tar]);
}

#[test]
fn oracle_umoci_agrees_on_whiteouts_and_opaque_directories() {
    let base = [
        root(),
        directory("d"),
        file("d/x"),
        file("d/y"),
        directory("o").mode(0o700),
        file("o/x"),
        file("a"),
        file("b"),
        TarEntry::symlink("s", "d").mtime(8, 0),
    ];
    let upper = [
        file(".wh.a"),
        file(".wh.s"),
        file(".wh.nothing"),
        file("o/.wh..wh..opq"),
        file("o/new"),
        directory("o").mode(0o711),
        directory("d"),
        file("d/.wh.x"),
        file("b").mode(0o755),
        root(),
    ];
    let third = [file(".wh.d"), file("d/z"), directory("d"), root()];
    assert_same(&[&base, &upper]);
    assert_same(&[&base, &upper, &third]);
}

#[test]
fn oracle_umoci_agrees_on_type_changes_and_links_across_layers() {
    let base = [
        root(),
        directory("d"),
        file("d/x"),
        file("f"),
        TarEntry::symlink("s", "d").mtime(8, 0),
        file("linked"),
        TarEntry::hardlink("linked2", "linked").mtime(5, 7),
    ];
    let upper = [
        file("d"),
        directory("f"),
        file("f/x"),
        directory("f"),
        directory("s"),
        file("linked2"),
        TarEntry::hardlink("linked3", "linked").mtime(5, 7),
        root(),
    ];
    assert_same(&[&base, &upper]);
}
