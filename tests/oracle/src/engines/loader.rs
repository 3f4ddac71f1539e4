use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use fs_err as fs;

use super::corpus::Case;
use super::tree::Tree;
use test_fixtures::build;
use test_support::oci_layout::{self, Blob};
use test_support::trees::mounted_tree;
use test_support::{Msb, TestEnv};

const IMAGE: &str = "localhost/case:latest";

/// An msb that loads one case after another.
pub(super) struct Loader {
    msb: Msb,
    tree_dump: PathBuf,
    work: PathBuf,
}

/// The result of a case in msb, with its processor time and memory.
pub(super) struct Ours {
    pub(super) tree: Result<Tree, String>,
    pub(super) seconds: f64,
    pub(super) rss_mib: u64,
}

impl Loader {
    pub(super) fn new() -> Result<Self> {
        let env = TestEnv::new("engines")?;
        Ok(Self {
            msb: env.msb_at("home")?,
            tree_dump: build::tree_dump()?,
            work: env.work,
        })
    }

    /// Loads a case into an empty store; the tree is the one that the host's kernel mounts.
    pub(super) fn verdict(&self, case: &Case, diff_ids: &[String]) -> Result<Ours> {
        let layout = self.work.join("layout");
        let layers: Vec<Blob> = case
            .layers
            .iter()
            .zip(diff_ids)
            .map(|(layer, diff_id)| Blob {
                media_type: "layer.v1.tar",
                bytes: layer.clone(),
                diff_id: diff_id.clone(),
            })
            .collect();
        oci_layout::write(&layout, &layers);
        let report = self.work.join("time");
        let mut load = Command::new("/usr/bin/time");
        load.args(["-f", "%U %S %M", "-o"])
            .arg(&report)
            .arg(&self.msb.program)
            .env("MSB_HOME", &self.msb.home)
            .args(["load", "-q", "-t", IMAGE])
            .arg(&layout);
        let output = load.output()?;
        let tree = match output.status.code() {
            Some(0) => Ok(self.tree()?),
            Some(125) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            _ => bail!(
                "{}: msb gave {}: {}",
                case.name,
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ),
        };
        let report = fs::read_to_string(&report)?;
        let mut figures = report.lines().last().unwrap_or_default().split_whitespace();
        let mut second = || -> Option<f64> { figures.next()?.parse().ok() };
        let seconds = second().zip(second()).map(|(user, system)| user + system);
        let kib: Option<u64> = figures.next().and_then(|kib| kib.parse().ok());
        let (seconds, kib) = seconds
            .zip(kib)
            .context("no processor time and no peak memory")?;
        fs::remove_dir_all(&layout)?;
        fs::remove_dir_all(&self.msb.home)?;
        Ok(Ours {
            tree,
            seconds,
            rss_mib: kib / 1024,
        })
    }

    /// Removes the loader's files.
    pub(super) fn remove(self) -> Result<()> {
        Ok(fs::remove_dir_all(self.work)?)
    }

    fn tree(&self) -> Result<Tree> {
        let artifacts = self.msb.inspect(IMAGE)?;
        Ok(Tree::parse(&mounted_tree(
            &artifacts,
            &self.tree_dump,
            &self.work,
        )?))
    }
}
