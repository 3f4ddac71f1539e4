use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use test_fixtures::images;
use test_support::harness::{self, Trial};
use test_support::oci_layout::Layout;
use test_support::{Msb, TestEnv, succeed};

const NAME: &str = "oracle.test/image:latest";

/// Bad input: its title, a word that its error must contain, and its function.
type Case = (
    &'static str,
    &'static str,
    fn(&Loader<'_>) -> Result<Output>,
);

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

/// The msb, the layout and the directory of a case.
struct Loader<'a> {
    msb: Msb,
    layout: &'a Path,
    work: &'a Path,
}

/// Returns a test for each kind of bad input: `refusals::…`.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |&(title, word, case): &Case| {
        let name = harness::name_of(title);
        let directory = format!("refusals-{name}");
        harness::test(format!("refusals::{name}"), move || {
            refused(&directory, word, case)
        })
    };
    CASES.iter().map(test).collect()
}

/// Checks that bad input gets one clear line and exit code 125, and leaves the store unchanged.
fn refused(directory: &str, word: &str, case: fn(&Loader<'_>) -> Result<Output>) -> Result<String> {
    let env = TestEnv::new(directory)?;
    let loader = Loader {
        msb: env.msb_at("home")?,
        layout: &images::small()?,
        work: &env.work,
    };
    let output = case(&loader)?;
    check(&output, word)?;
    let left = left_overs(&loader.msb.home)?;
    ensure!(left.is_empty(), "left over: {left:?}");
    env.remove_work()?;
    Ok(String::new())
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

/// Returns the leftovers of a failed command: temporary files, and locks of layers.
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

impl Loader<'_> {
    fn load(&self, path: &Path) -> Result<Output> {
        Ok(self
            .msb
            .command(&["load", "-q", "-t", NAME])
            .arg(path)
            .output()?)
    }

    /// Returns a copy of the layout to damage.
    fn copy(&self) -> Result<Layout> {
        let root = self.work.join("layout");
        succeed(Command::new("cp").arg("-r").arg(self.layout).arg(&root))?;
        Ok(Layout::at(root))
    }

    fn archive(&self) -> Result<PathBuf> {
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

/// Returns the blob of the topmost layer.
fn last_layer(layout: &Layout) -> Result<PathBuf> {
    layout.blob(layout.layers()?.last().context("no layer")?)
}

fn wrong_digest(loader: &Loader<'_>) -> Result<Output> {
    let spoiled = loader.copy()?;
    let layer = last_layer(&spoiled)?;
    let mut bytes = fs::read(&layer)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(layer, bytes)?;
    loader.load(spoiled.root())
}

fn truncated_layer(loader: &Loader<'_>) -> Result<Output> {
    let spoiled = loader.copy()?;
    let layer = last_layer(&spoiled)?;
    let bytes = fs::read(&layer)?;
    fs::write(layer, &bytes[..bytes.len() / 2])?;
    loader.load(spoiled.root())
}

fn truncated_archive(loader: &Loader<'_>) -> Result<Output> {
    let archive = loader.archive()?;
    let length = fs::metadata(&archive)?.len();
    fs::File::options()
        .write(true)
        .open(&archive)?
        .set_len(length / 3)?;
    loader.load(&archive)
}

fn unknown_archive(loader: &Loader<'_>) -> Result<Output> {
    let file = loader.work.join("not-an-archive");
    fs::write(&file, "a shopping list\n".repeat(1000))?;
    loader.load(&file)
}

fn unsupported_media_type(loader: &Loader<'_>) -> Result<Output> {
    let spoiled = loader.copy()?;
    let (mut manifest, _) = spoiled.manifest()?;
    manifest["layers"][0]["mediaType"] = json!("application/vnd.example.layer.v1");
    spoiled.set_manifest(&manifest)?;
    loader.load(spoiled.root())
}

fn missing_platform(loader: &Loader<'_>) -> Result<Output> {
    let arguments = ["load", "-q", "-t", NAME, "--platform", "linux/riscv64"];
    Ok(loader.msb.command(&arguments).arg(loader.layout).output()?)
}

fn unreachable_registry(loader: &Loader<'_>) -> Result<Output> {
    Ok(loader
        .msb
        .command(&["pull", "-q", "--plain-http", "127.0.0.1:9/some/image:1"])
        .output()?)
}

/// Loads into a store on a filesystem that is too small for the image. It works again on a larger
/// one.
fn full_disk(loader: &Loader<'_>) -> Result<Output> {
    fs::create_dir_all(&loader.msb.home)?;
    let mount = |size: &str| {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", size, "tmpfs"])
            .arg(&loader.msb.home);
        mount
    };
    succeed(&mut mount("size=2m"))?;
    let outcome = (|| {
        let output = loader.load(loader.layout)?;
        // The caller's check runs after this filesystem is unmounted, and would find nothing.
        let left = left_overs(&loader.msb.home)?;
        ensure!(left.is_empty(), "left over on the full disk: {left:?}");
        succeed(
            Command::new("mount")
                .args(["-o", "remount,size=1g"])
                .arg(&loader.msb.home),
        )?;
        loader
            .msb
            .load(loader.layout, NAME)
            .context("with space again")?;
        Ok(output)
    })();
    succeed(Command::new("umount").arg(&loader.msb.home))?;
    outcome
}

fn corrupt_artifact(loader: &Loader<'_>) -> Result<Output> {
    loader.msb.load(loader.layout, NAME)?;
    let artifacts = loader.msb.inspect(NAME)?;
    let layer = artifacts.layers.last().context("no layer")?;
    let length = fs::metadata(layer)?.len();
    fs::File::options()
        .write(true)
        .open(layer)?
        .set_len(length - 4096)?;
    Ok(loader
        .msb
        .command(&["run", "--rm", "-q", "--pull", "never", NAME, "true"])
        .output()?)
}

fn missing_kernel(loader: &Loader<'_>) -> Result<Output> {
    loader.msb.load(loader.layout, NAME)?;
    let mut run = loader
        .msb
        .command(&["run", "--rm", "-q", "--pull", "never", NAME, "true"]);
    Ok(run
        .env("MSB_KERNEL", loader.work.join("no-kernel.so"))
        .output()?)
}

fn unknown_image(loader: &Loader<'_>) -> Result<Output> {
    let output = loader
        .msb
        .command(&["run", "--rm", "--pull", "never", "no-such-image", "true"])
        .output()?;
    if output.status.success() {
        bail!("an image that is not there ran");
    }
    Ok(output)
}
