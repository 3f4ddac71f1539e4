use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Msb, succeed};

const NAME: &str = "oracle.test/image:latest";

/// Bad input, and the word that its error must hold.
type Case = (&'static str, &'static str, fn(&Ground) -> Result<Output>);

const CASES: [Case; 11] = [
    (
        "a layer whose bytes are not its digest",
        "sha256:",
        wrong_digest,
    ),
    ("a layer that is cut short", "sha256:", truncated_layer),
    ("a truncated archive", "is truncated", truncated_archive),
    ("a file that is no archive", "archive", unknown_archive),
    (
        "an unsupported media type",
        "application/vnd.example",
        unsupported_media_type,
    ),
    (
        "a platform that the image lacks",
        "riscv64",
        missing_platform,
    ),
    (
        "an unreachable registry",
        "127.0.0.1:9",
        unreachable_registry,
    ),
    ("a full disk", "No space left", full_disk),
    ("a corrupt artifact", ".erofs", corrupt_artifact),
    ("no kernel", "kernel", missing_kernel),
    ("an unknown image", "no-such-image", unknown_image),
];

/// What the cases work on.
struct Ground<'a> {
    msb: Msb,
    layout: &'a Path,
    work: &'a Path,
}

/// Each kind of bad input gets one clear line, exit code 125, and leaves the store as it was.
pub(crate) fn check_refusals(program: &Path, layout: &Path, work: &Path) -> Result<usize> {
    for (name, word, case) in CASES {
        let directory = work.join("refusal");
        fs::create_dir_all(&directory)?;
        let msb = Msb {
            program: program.to_owned(),
            home: directory.join("home"),
        };
        let ground = Ground {
            msb,
            layout,
            work: &directory,
        };
        let output = case(&ground).with_context(|| name.to_owned())?;
        check(&output, word).with_context(|| name.to_owned())?;
        let left = left_overs(&ground.msb.home)?;
        ensure!(left.is_empty(), "{name}: left over: {left:?}");
        fs::remove_dir_all(&directory)?;
    }
    Ok(CASES.len())
}

fn check(output: &Output, word: &str) -> Result<()> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(125),
        "{}, {stderr}",
        output.status
    );
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("msb: "))
        .collect();
    ensure!(lines.len() == 1, "not one line: {stderr}");
    ensure!(lines[0].contains(word), "'{word}' is not in: {}", lines[0]);
    Ok(())
}

/// What a failed command must not leave: temporary files, and locks of layers.
fn left_overs(home: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let mut directories = vec![home.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            let text = path.strip_prefix(home)?.display().to_string();
            if path.is_dir() {
                directories.push(path);
            } else if text.starts_with("store/") && text.contains("/tmp/") {
                left.push(text);
            }
        }
    }
    Ok(left)
}

impl Ground<'_> {
    fn load(&self, path: &Path) -> Result<Output> {
        Ok(self
            .msb
            .command(&["load", "-q", "-t", NAME])
            .arg(path)
            .output()?)
    }

    /// A copy of the layout to spoil.
    fn copy(&self) -> Result<Spoiled> {
        let root = self.work.join("layout");
        succeed(Command::new("cp").arg("-r").arg(self.layout).arg(&root))?;
        Ok(Spoiled { root })
    }

    fn archive(&self) -> Result<std::path::PathBuf> {
        let archive = self.work.join("image.tar");
        succeed(
            Command::new("tar")
                .arg("-cf")
                .arg(&archive)
                .arg("-C")
                .arg(self.layout)
                .arg("."),
        )?;
        Ok(archive)
    }
}

/// An OCI layout whose parts can be changed.
struct Spoiled {
    root: std::path::PathBuf,
}

impl Spoiled {
    fn blob(&self, digest: &Value) -> Result<std::path::PathBuf> {
        let digest = digest.as_str().context("no digest")?;
        let hex = digest.strip_prefix("sha256:").context("not sha256")?;
        Ok(self.root.join("blobs/sha256").join(hex))
    }

    fn json(&self, path: &Path) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    fn index(&self) -> Result<Value> {
        self.json(&self.root.join("index.json"))
    }

    fn manifest(&self) -> Result<Value> {
        self.json(&self.blob(&self.index()?["manifests"][0]["digest"])?)
    }

    fn last_layer(&self) -> Result<std::path::PathBuf> {
        let manifest = self.manifest()?;
        let layers = manifest["layers"].as_array().context("no layers")?;
        self.blob(&layers.last().context("no layer")?["digest"])
    }

    /// Puts another manifest in the place of the image's.
    fn replace_manifest(&self, manifest: &Value) -> Result<()> {
        use sha2::{Digest as _, Sha256};
        let bytes = serde_json::to_vec(manifest)?;
        let hex: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut index = self.index()?;
        index["manifests"][0]["digest"] = json!(format!("sha256:{hex}"));
        index["manifests"][0]["size"] = json!(bytes.len());
        fs::write(self.root.join("blobs/sha256").join(hex), bytes)?;
        Ok(fs::write(
            self.root.join("index.json"),
            serde_json::to_vec(&index)?,
        )?)
    }
}

fn wrong_digest(ground: &Ground<'_>) -> Result<Output> {
    let spoiled = ground.copy()?;
    let layer = spoiled.last_layer()?;
    let mut bytes = fs::read(&layer)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(layer, bytes)?;
    ground.load(&spoiled.root)
}

fn truncated_layer(ground: &Ground<'_>) -> Result<Output> {
    let spoiled = ground.copy()?;
    let layer = spoiled.last_layer()?;
    let bytes = fs::read(&layer)?;
    fs::write(layer, &bytes[..bytes.len() / 2])?;
    ground.load(&spoiled.root)
}

fn truncated_archive(ground: &Ground<'_>) -> Result<Output> {
    let archive = ground.archive()?;
    let length = fs::metadata(&archive)?.len();
    fs::File::options()
        .write(true)
        .open(&archive)?
        .set_len(length / 3)?;
    ground.load(&archive)
}

fn unknown_archive(ground: &Ground<'_>) -> Result<Output> {
    let file = ground.work.join("not-an-archive");
    fs::write(&file, "a shopping list\n".repeat(1000))?;
    ground.load(&file)
}

fn unsupported_media_type(ground: &Ground<'_>) -> Result<Output> {
    let spoiled = ground.copy()?;
    let mut manifest = spoiled.manifest()?;
    manifest["layers"][0]["mediaType"] = json!("application/vnd.example.layer.v1");
    spoiled.replace_manifest(&manifest)?;
    ground.load(&spoiled.root)
}

fn missing_platform(ground: &Ground<'_>) -> Result<Output> {
    let arguments = ["load", "-q", "-t", NAME, "--platform", "linux/riscv64"];
    Ok(ground.msb.command(&arguments).arg(ground.layout).output()?)
}

fn unreachable_registry(ground: &Ground<'_>) -> Result<Output> {
    Ok(ground
        .msb
        .command(&["pull", "-q", "--plain-http", "127.0.0.1:9/some/image:1"])
        .output()?)
}

/// The store on a filesystem that is too small for the image; works again on a larger one.
fn full_disk(ground: &Ground<'_>) -> Result<Output> {
    fs::create_dir_all(&ground.msb.home)?;
    let mount = |size: &str| {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", size, "tmpfs"])
            .arg(&ground.msb.home);
        mount
    };
    succeed(&mut mount("size=2m"))?;
    let outcome = (|| {
        let output = ground.load(ground.layout)?;
        // The caller looks again once this filesystem is gone, and would see nothing.
        let left = left_overs(&ground.msb.home)?;
        ensure!(left.is_empty(), "left over on the full disk: {left:?}");
        succeed(
            Command::new("mount")
                .args(["-o", "remount,size=1g"])
                .arg(&ground.msb.home),
        )?;
        ground
            .msb
            .load(ground.layout, NAME)
            .context("with space again")?;
        Ok(output)
    })();
    succeed(Command::new("umount").arg(&ground.msb.home))?;
    outcome
}

fn corrupt_artifact(ground: &Ground<'_>) -> Result<Output> {
    ground.msb.load(ground.layout, NAME)?;
    let artifacts = ground.msb.inspect(NAME)?;
    let layer = artifacts.layers.last().context("no layer")?;
    let length = fs::metadata(layer)?.len();
    fs::File::options()
        .write(true)
        .open(layer)?
        .set_len(length - 4096)?;
    Ok(ground
        .msb
        .command(&["run", "--rm", "-q", "--pull", "never", NAME, "true"])
        .output()?)
}

fn missing_kernel(ground: &Ground<'_>) -> Result<Output> {
    ground.msb.load(ground.layout, NAME)?;
    let mut run = ground
        .msb
        .command(&["run", "--rm", "-q", "--pull", "never", NAME, "true"]);
    Ok(run
        .env("MSB_KERNEL", ground.work.join("no-kernel.so"))
        .output()?)
}

fn unknown_image(ground: &Ground<'_>) -> Result<Output> {
    let output = ground
        .msb
        .command(&["run", "--rm", "--pull", "never", "no-such-image", "true"])
        .output()?;
    if output.status.success() {
        bail!("an image that is not there ran");
    }
    Ok(output)
}
