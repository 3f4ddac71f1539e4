use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Result, ensure};

use super::registry::CountingRegistry;
use super::told;
use test_support::TestEnv;
use testkit::images::{Packing, TestImage, TestLayer, write_directory};

/// The name of the image that was in the store before.
pub(super) const BEFORE: &str = "before:1";

/// A command that runs on a failing disk.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<String>,
    /// The most space that the command needs, in KiB.
    pub(super) needs_kib: u64,
    /// The messages with which the command fails for another reason on a working disk.
    beyond: &'static [&'static str],
}

impl Stage {
    fn new(name: &'static str, needs_kib: u64, arguments: &[&str]) -> Self {
        Self {
            name,
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            needs_kib,
            beyond: &[],
        }
    }

    /// Returns the stage that pulls an image of three layers.
    pub(super) fn pull(registry: &CountingRegistry) -> Self {
        let name = registry.name("overlap-0");
        Self::new("pull", 7_000, &["pull", "-q", "--plain-http", &name])
    }

    /// Returns the stage that loads the small image.
    pub(super) fn load(small: &Path) -> Self {
        let small = small.display().to_string();
        Self::new("load", 45_000, &["load", "-q", "-t", "after:1", &small])
    }

    /// Returns the stage that creates a sandbox, for a VMM that cannot start here.
    pub(super) fn create() -> Self {
        let arguments = ["run", "--rm", "-q", "--vmm", "krun", BEFORE, "true"];
        Self {
            beyond: &["cannot use krun"],
            ..Self::new("create", 600, &arguments)
        }
    }

    /// Returns the stage that creates and starts a sandbox, and does not wait for its answer.
    pub(super) fn run() -> Self {
        let mut arguments = vec!["run", "--rm", "-q", "--vmm", "qemu"];
        arguments.extend(["--boot-timeout", "1", BEFORE, "true"]);
        Self {
            // The image has no program. A fast host starts the guest in time to say so.
            beyond: &["did not answer within", "command not found in the image"],
            ..Self::new("run", 50_000, &arguments)
        }
    }

    /// Returns the stage that removes the image that was there before, and its files.
    pub(super) fn remove() -> Self {
        Self::new("remove", 0, &["image", "rm", BEFORE])
    }

    pub(super) fn went_on(&self, output: &Output) -> bool {
        let told = told(output);
        output.status.success() || self.beyond.iter().any(|text| told.contains(text))
    }
}

/// Checks for one line, with exit code 125, that names the reason and the path.
pub(super) fn expect_refusal(output: &Output, reason: &str, home: &Path) -> Result<()> {
    let text = told(output);
    ensure!(output.status.code() == Some(125), "{text}");
    ensure!(text.contains(reason), "does not say '{reason}': {text}");
    let place = home.display().to_string();
    ensure!(text.contains(&place), "does not name {place}: {text}");
    Ok(())
}

/// Returns the layout of an image that is loaded before the disk fails. A generated image would
/// share its layers with the pulled one.
pub(super) fn layout(env: &TestEnv) -> PathBuf {
    let layout = env.work.join("before");
    if !layout.exists() {
        let layer = TestLayer::new(&[("file", b"bytes")], Packing::Plain);
        let files = TestImage::new(vec![layer]).layout(Some("latest"));
        write_directory(&files, &layout);
    }
    layout
}
