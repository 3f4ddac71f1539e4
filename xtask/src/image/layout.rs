use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::quiet;

/// Makes an OCI layout of layer tars, base first, with umoci. Complete, or not there.
pub(super) fn assemble(layout: &Path, tars: &[PathBuf]) -> Result<()> {
    let unfinished = layout.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    let path = unfinished.to_str().context("the path is UTF-8")?;
    let image = format!("{path}:latest");
    quiet(&mut umoci(&["init", "--layout", path]))?;
    quiet(&mut umoci(&["new", "--image", &image]))?;
    for tar in tars {
        quiet(umoci(&["raw", "add-layer", "--image", &image]).arg(tar))?;
    }
    let path_setting = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let config = [
        "--config.cmd",
        "python3",
        "--config.env",
        path_setting,
        "--config.env",
        "LANG=C.UTF-8",
    ];
    quiet(umoci(&["config", "--image", &image]).args(config))?;
    quiet(&mut umoci(&["gc", "--layout", path]))?;
    fs::rename(unfinished, layout)?;
    Ok(())
}

fn umoci(arguments: &[&str]) -> Command {
    let mut command = Command::new("umoci");
    command.args(arguments);
    command
}
