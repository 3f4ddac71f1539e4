//! A guest of arm64: msb under qemu-user, the guest's processor under QEMU's system emulation.
//!
//! The jail is off: qemu-user passes neither seccomp's filters nor Landlock's calls on to the kernel,
//! and a filter for arm64 would meet the calls of an emulator for x86-64.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::{kernel, paths};

use crate::toolchain::Toolchain;
use crate::{build, image};

/// The name of the image in the store.
const IMAGE: &str = "arm64";

/// Mounts a device that cannot be opened, `$0`, in the place of KVM's, and becomes another program.
const HIDE_KVM: &str = r#"[ ! -e /dev/kvm ] || mount --bind "$0" /dev/kvm || exit; exec "$@""#;

/// Boots guests: one that says what it is, then those of the walk, which the boot tests take as well.
///
/// # Errors
/// If something cannot be built, or a guest does not do what is expected.
pub(crate) fn run(toolchain: &Toolchain) -> Result<()> {
    let kernel = kernel::own_for("aarch64")?;
    let image = image::debian()?;
    let msb = build::msb(toolchain)?;
    let home = paths::scratch("arm64-home")?;
    let no_device = paths::scratch("arm64-devices")?.join("none");
    quiet(Command::new("mknod").arg(&no_device).args(["c", "0", "0"]))?;
    let command = |program: &Path| {
        let mut command = without_kvm(program, &no_device);
        command
            .env("MSB_HOME", &home)
            .env("MSB_KERNEL", &kernel)
            .env("MSB_JAIL", "off");
        command
    };
    step("boot a guest of arm64");
    shown(command(&msb).args(["load", "-t", IMAGE]).arg(&image))?;
    let output = quiet(command(&msb).args(["run", "--rm", IMAGE, "uname", "-m"]))?;
    let machine = String::from_utf8_lossy(&output.stdout);
    ensure!(machine == "aarch64\n", "the guest is {machine:?}");
    step("walk a sandbox's life on arm64");
    let root = paths::root();
    shown(
        command(&root.join("tests/boot/walk.sh"))
            .arg(&msb)
            // The schemas are judged elsewhere: this takes everything.
            .args(["true", IMAGE, "qemu", "no-shares"]),
    )
}

/// Returns a command that sees no device of KVM. This host's is there for other processors, and
/// qemu-user passes none of its calls on.
fn without_kvm(program: &Path, no_device: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", HIDE_KVM])
        .args([no_device, program]);
    command
}
