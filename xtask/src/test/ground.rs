use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::oracle::Msb;
use crate::{build, docker, image, kernel, place};

/// The image that most steps work with.
pub(super) const IMAGE: &str = "localhost/debian-python:latest";

/// What the steps after the build work with.
pub(super) struct Ground {
    pub(super) msb: Msb,
    pub(super) kernel: PathBuf,
    pub(super) layout: PathBuf,
    pub(super) small: PathBuf,
    pub(super) tree_dump: PathBuf,
    pub(super) work: PathBuf,
}

impl Ground {
    /// Builds and loads what is not there yet. What the steps of one `lane` write is apart from
    /// another's.
    pub(super) fn prepare(lane: &str) -> Result<Self> {
        let ground = Self {
            msb: Msb {
                program: build::msb()?,
                home: place::scratch(&format!("test-home-{lane}"))?,
            },
            kernel: kernel::fetch()?,
            layout: image::demo()?,
            small: image::small()?,
            tree_dump: build::tree_dump()?,
            work: place::scratch(&format!("test-{lane}"))?,
        };
        ground.msb.load(&ground.layout, IMAGE)?;
        Ok(ground)
    }

    /// This program, as it runs in a guest too: a recipe with an msb and a VMM.
    pub(super) fn itself(&self, recipe: &str, vmm: &str) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(recipe)
            .arg("--msb")
            .arg(&self.msb.program)
            .args(["--image", IMAGE, "--vmm", vmm])
            .env("MSB_HOME", &self.msb.home)
            .env("MSB_KERNEL", &self.kernel);
        Ok(command)
    }

    pub(super) fn docker(&self) -> docker::Ground<'_> {
        docker::Ground {
            program: &self.msb.program,
            kernel: &self.kernel,
            layout: &self.layout,
            vmm: "qemu",
        }
    }
}
