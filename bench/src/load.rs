//! `msb load` against the bound: the same blobs read, hashed, decompressed, hashed again and written
//! to the same filesystem, two at a time, without parsing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::{bound, layout, timing};

/// Arguments of `bench load`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The msb to time
    #[arg(long)]
    msb: PathBuf,
    /// An OCI layout directory with one image
    #[arg(long)]
    layout: PathBuf,
    /// Counted runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Where both write
    #[arg(long, default_value = "target")]
    work: PathBuf,
}

#[expect(clippy::print_stdout, reason = "the figures are this program's output")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments {
        msb,
        layout,
        runs,
        work,
    } = arguments;
    let blobs = layout::layer_blobs(layout)?;
    let compressed_bytes: u64 = blobs.iter().map(|blob| blob.size_bytes).sum();
    let bound = || bound::run(&blobs, tempfile::tempdir_in(work)?.path());
    let load = || {
        let home = tempfile::tempdir_in(work)?;
        let status = Command::new(msb)
            .env("MSB_HOME", home.path())
            .args(["load", "--quiet", "--tag", "bench/image:latest"])
            .arg(layout)
            .status()
            .context("cannot run msb")?;
        ensure!(status.success(), "msb load failed");
        Ok(())
    };
    let pairs = timing::alternate(*runs, load, bound)?;
    println!(
        "{} layers, {compressed_bytes} bytes compressed, {runs} runs after one warm-up",
        blobs.len()
    );
    println!("cache warm; both fsync every file they write");
    println!("{}", pairs.shown("msb load", "the bound"));
    Ok(())
}
