//! The initial inputs of fuzzing.

mod disk_images;
mod doors;
mod ext4;
mod frames;
mod sftp;

use std::path::Path;

use anyhow::{Context as _, Result};
use erofs_writer::{ImageWriter, Options};
use fs_err as fs;
use fstree::{FileKind, Inode, Metadata, Name, Tree};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use snapshot_file::DiskRuns;
use vmdk::{Descriptor, FlatExtent};

use crate::fidelity;

/// The longest input of the corpus, in bytes.
const SEED_MAX_BYTES: usize = 8 << 10;

/// Writes the corpus that the repository keeps, made with the project's own builders.
pub fn write(corpus: &Path) -> Result<String> {
    let mut count = 0;
    for (target, seeds) in [
        ("tar_layer", layers()),
        ("erofs_image", vec![("small".to_owned(), erofs()?)]),
        ("disk_image", disk_images::images()?),
        ("edge_answer", doors::answers()),
        ("edge_request", doors::requests()),
        ("ext4_image", ext4::images()?),
        ("vmdk_descriptor", vec![("two".to_owned(), vmdk()?)]),
        ("manifest", documents()),
        ("agent_frames", agent_frames()),
        ("apply_record", apply_records()),
        ("mcp_input", doors::messages()),
        ("network_frames", frames::frames()),
        ("sandbox_disk", disks()),
        ("secret_words", doors::words()),
        ("sftp_requests", sftp::packets()),
        ("snapshot_file", snapshots()?),
        ("staged_disk", staged_disks()),
    ] {
        let directory = corpus.join(target);
        fs::create_dir_all(&directory)?;
        for (name, bytes) in seeds {
            fs::write(directory.join(name), bytes)?;
            count += 1;
        }
    }
    Ok(format!("{count} seeds"))
}

/// Returns the layers of the fidelity table.
fn layers() -> Vec<(String, Vec<u8>)> {
    let mut layers = fidelity::archives();
    layers.retain(|(_, bytes)| bytes.len() <= SEED_MAX_BYTES);
    layers
}

/// Returns a snapshot of a small disk, and the tar in it.
fn snapshots() -> Result<Vec<(String, Vec<u8>)>> {
    let mut disk = vec![0; 16 << 10];
    disk[4096..4101].copy_from_slice(b"hello");
    disk[12 << 10..].fill(1);
    let runs = DiskRuns::find(&disk, [std::io::Result::Ok((0, 16 << 10))])?;
    let image = vec![1_u8; 512];
    let file = snapshot_file::write(Vec::new(), b"{\"format\": 2}", &disk, &runs, &[&image])?;
    let tar = zstd::stream::decode_all(&file[..])?;
    Ok(vec![("file".to_owned(), file), ("tar".to_owned(), tar)])
}

fn erofs() -> Result<Vec<u8>> {
    let mut out = std::io::Cursor::new(Vec::new());
    let mut writer = ImageWriter::new(&mut out, Options::default())?;
    let run = writer.append(&mut &b"hello"[..], 5)?.context("a block")?;
    let mut tree = Tree::new(Metadata::directory(0o755));
    let mut add = |name: &[u8], kind| -> Result<()> {
        let mut metadata = Metadata::with_mode(0o644);
        metadata.xattrs.insert(b"user.a", b"1");
        let inode = tree.add(Inode { metadata, kind });
        tree.link(tree.root(), Name::new(name)?, inode);
        Ok(())
    };
    add(b"file", FileKind::Regular(run.whole_file(5)))?;
    add(b"link", FileKind::Symlink(b"file"[..].into()))?;
    add(b"pipe", FileKind::Fifo)?;
    writer.finish(&tree)?;
    Ok(out.into_inner())
}

fn vmdk() -> Result<Vec<u8>> {
    let extent = |sectors, file: &str| FlatExtent {
        sectors,
        file_name: file.to_owned(),
    };
    let extents = vec![extent(8, "a.fsmeta.erofs"), extent(4096, "b.erofs")];
    Ok(Descriptor::new(7, extents)?.render().into_bytes())
}

fn documents() -> Vec<(String, Vec<u8>)> {
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let descriptor = |media_type: &str| {
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":7}}"#)
    };
    let layer = descriptor("application/vnd.oci.image.layer.v1.tar+gzip");
    let config = descriptor("application/vnd.oci.image.config.v1+json");
    [
        ("manifest", format!(r#"{{"schemaVersion":2,"mediaType":"{manifest}","config":{config},"layers":[{layer}]}}"#)),
        ("index", format!(r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"{manifest}","digest":"{digest}","size":7,"platform":{{"os":"linux","architecture":"amd64"}}}}]}}"#)),
        ("config", format!(r#"{{"architecture":"amd64","os":"linux","config":{{"Env":["A=b"],"Cmd":["sh"],"User":"1:2"}},"rootfs":{{"type":"layers","diff_ids":["{digest}"]}}}}"#)),
        ("reference", format!("registry.example:5000/a/b:tag@{digest}")),
        ("familiar", "debian".to_owned()),
        ("digest", digest.clone()),
        ("platform", "linux/arm64/v8".to_owned()),
        ("challenge", r#"Bearer realm="https://auth.example/token",service="s",scope="repository:a:pull", Basic realm="x""#.to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .into()
}

/// Returns inputs: a byte that chooses the behaviour of guest and host, then the guest's data.
fn agent_frames() -> Vec<(String, Vec<u8>)> {
    // A gRPC message: not compressed, a length, Protocol Buffers.
    let message = |bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).unwrap_or(0);
        [&[0, 0, 0, 0, length], bytes].concat()
    };
    let started = message(&[0x0a, 4, 0x08, 7, 0x10, 1]);
    let stdout = message(&[0x12, 1, b'x']);
    let exited = message(&[0x22, 2, 0x08, 3]);
    let hello = message(&[0x08, 2, 0x12, 1, b'6']);
    let window_update = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let go_away = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    [
        ("silent", vec![0]),
        ("greets", [&[1][..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()),
        ("window-update", [&[2][..], &window_update].concat()),
        ("go-away", [&[2 | 4][..], &go_away].concat()),
        ("hello", [&[3][..], &hello].concat()),
        ("exec", [&[3 | 4][..], &started, &stdout, &exited].concat()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

/// Returns records of applies, without seals: each has steps of one kind, and one has all of them. Even numbers of
/// inodes stand for those of existing files.
fn apply_records() -> Vec<(String, Vec<u8>)> {
    let name = |digit: &str| hex(format!(".msb-apply-{}", digit.repeat(16)).as_bytes());
    let host = json!({"inode": 2, "size_bytes": 3, "modified": [0, 0]});
    let attributes = json!({"mode": 0o644, "uid": 0, "gid": 0, "mtime_s": 1, "mtime_ns": 0});
    let directory = json!({"mode": 0o755, "uid": 0, "gid": 0, "mtime_s": 1, "mtime_ns": 0});
    let place = |digit: &str, host: Value| {
        let identity = json!({"device": 0, "inode": 2});
        let waiting = json!({"above": "", "name": name(digit), "identity": identity});
        json!({"place": {
            "waiting": waiting, "host": host, "attributes": attributes, "keeps_attributes": false,
        }})
    };
    let link = json!({"link": {
        "other": hex(b"a"), "inode": 2, "name": name("2"), "host": null, "attributes": attributes,
        "keeps_attributes": false,
    }});
    let step = |path: &str, action: Value| json!({"path": hex(path.as_bytes()), "action": action});
    let steps = [
        ("remove", step("b", json!({"remove": host}))),
        (
            "make-directory",
            step("n", json!({"make_directory": directory})),
        ),
        ("add", step("n/added", place("0", Value::Null))),
        ("replace", step("a", place("1", host.clone()))),
        ("link", step("l", link)),
        (
            "set-attributes",
            step(
                "d/c",
                json!({"set_attributes": {"host": host, "attributes": attributes}}),
            ),
        ),
        (
            "set-directory",
            step("d", json!({"set_directory": directory})),
        ),
        ("through-a-link", step("out/file", json!({"remove": host}))),
    ];
    let record = |steps: Vec<&Value>| {
        let identity = json!({"device": 1, "inode": 2, "born": null});
        let record = json!({
            "version": 1, "directory": hex(b"/directory"), "identity": identity, "keep_owner": false,
            "steps": steps,
        });
        record.to_string().into_bytes()
    };
    let all = record(steps.iter().map(|(_, step)| step).collect());
    let single = steps.iter();
    let single = single.map(|(name, step)| ((*name).to_owned(), record(vec![step])));
    single.chain([("all".to_owned(), all)]).collect()
}

/// Returns bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns inputs that choose the files of a disk at random.
fn disks() -> Vec<(String, Vec<u8>)> {
    let block = |seed: u8, number: u8| Sha256::digest([seed, number]);
    let disk = |seed| {
        let bytes: Vec<u8> = (0..20).flat_map(|number| block(seed, number)).collect();
        (format!("random-{seed}"), bytes)
    };
    (0..16).map(disk).collect()
}

/// Returns inputs that choose the files of a disk with staged directories at random: from two blocks of bytes on,
/// because the more files there are, the more often a disk is refused.
fn staged_disks() -> Vec<(String, Vec<u8>)> {
    let block = |seed: u8, number: u8| Sha256::digest([b's', seed, number]);
    let disk = |seed| {
        let blocks = 2 + seed;
        let bytes: Vec<u8> = (0..blocks).flat_map(|number| block(seed, number)).collect();
        (format!("random-{seed}"), bytes)
    };
    (0..16).map(disk).collect()
}
