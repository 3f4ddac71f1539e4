use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::registry::Registry;
use crate::layout;
use crate::msb::{Msb, this_program};

/// The start of a script that handles each layer in turn, with its blob in `$blob`.
const EACH_LAYER: &str = "set -e; cd \"$0\"; n=0; for blob do n=$((n + 1)); ";
/// Writes a layer's tar to standard output. gzip itself tells if the blob is compressed.
const PLAIN: &str =
    "if gzip -t \"$blob\" 2>/dev/null; then gzip -dc \"$blob\"; else cat \"$blob\"; fi";

/// The tool that pulls from the registry too, as `msb pull` does.
pub(super) const SKOPEO_PULL: &str = "skopeo copy docker://";

/// One way to load an image.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Bound {
        layout: PathBuf,
    },
    MsbLoad {
        layout: PathBuf,
    },
    MsbPull {
        reference: String,
    },
    /// A shell script. Its arguments are the directory and the layers' blobs.
    Script {
        text: String,
        blobs: Vec<PathBuf>,
    },
    Umoci {
        layout: PathBuf,
        tag: String,
    },
    Skopeo {
        layout: PathBuf,
        tag: String,
    },
    SkopeoPull {
        reference: String,
    },
}

/// Returns the installed contestants, the bound first. The notes have their versions, and the names
/// of missing ones.
pub(super) fn all(directory: &Path, registry: &Registry) -> Result<(Vec<Contestant>, Vec<String>)> {
    let layout = std::path::absolute(directory)?;
    let tag = layout::tag(&layout)?;
    let blobs: Vec<PathBuf> = layout::layer_blobs(&layout)?
        .into_iter()
        .map(|blob| blob.path)
        .collect();
    let ways = [
        (
            "the bound",
            None,
            Way::Bound {
                layout: layout.clone(),
            },
        ),
        (
            "msb load",
            None,
            Way::MsbLoad {
                layout: layout.clone(),
            },
        ),
        (
            "msb pull",
            None,
            Way::MsbPull {
                reference: registry.reference(),
            },
        ),
        (
            "mkfs.erofs",
            Some("mkfs.erofs"),
            Way::Script {
                text: mkfs_script(""),
                blobs: blobs.clone(),
            },
        ),
        (
            "mkfs.erofs -E noinline_data",
            Some("mkfs.erofs"),
            Way::Script {
                text: mkfs_script("-E noinline_data"),
                blobs,
            },
        ),
        (
            "umoci unpack",
            Some("umoci"),
            Way::Umoci {
                layout: layout.clone(),
                tag: tag.clone(),
            },
        ),
        ("skopeo copy", Some("skopeo"), Way::Skopeo { layout, tag }),
        (
            SKOPEO_PULL,
            Some("skopeo"),
            Way::SkopeoPull {
                reference: registry.reference(),
            },
        ),
    ];
    let mut notes = Vec::new();
    let mut contestants = Vec::new();
    for (name, program, way) in ways {
        if program.is_none_or(installed) {
            contestants.push(Contestant { name, way });
            notes.extend(program.and_then(version));
        } else {
            notes.push(format!("{name} is not installed"));
        }
    }
    notes.dedup();
    Ok((contestants, notes))
}

/// Returns the line with a program's version. `None` if it prints none.
fn version(program: &str) -> Option<String> {
    // mkfs.erofs before 1.6 accepts only -V.
    let said = ["--version", "-V"].map(|option| Command::new(program).arg(option).output());
    said.into_iter()
        .flatten()
        .filter(|output| output.status.success())
        .find_map(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let line = text.lines().find(|line| line.starts_with(program))?;
            Some(line.trim().to_owned())
        })
}

/// Returns a script that makes an image of each layer. It passes the tar to mkfs.erofs, or an
/// unpacked tree to a mkfs.erofs before 1.7, which accepts no tars.
fn mkfs_script(options: &str) -> String {
    let help = Command::new("mkfs.erofs").arg("--help").output();
    let takes_tars = help.is_ok_and(|help| {
        [help.stdout, help.stderr]
            .iter()
            .any(|text| String::from_utf8_lossy(text).contains("--tar"))
    });
    let make = if takes_tars {
        format!("{{ {PLAIN}; }} | mkfs.erofs --quiet {options} --tar=f $n.erofs")
    } else {
        format!(
            "mkdir $n; {{ {PLAIN}; }} | tar -C $n -x; mkfs.erofs {options} $n.erofs $n; rm -r $n"
        )
    };
    format!("{EACH_LAYER}{make}; done")
}

fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(program).is_file())
}

impl Contestant {
    /// Returns true for msb and the bound, which must not fail.
    pub(super) const fn is_ours(&self) -> bool {
        matches!(
            self.way,
            Way::Bound { .. } | Way::MsbLoad { .. } | Way::MsbPull { .. }
        )
    }

    /// Returns the command line that writes into `directory`.
    pub(super) fn command(&self, msb: &Msb, directory: &Path) -> Result<Command> {
        Ok(match &self.way {
            Way::Bound { layout } => {
                let mut command = Command::new(this_program()?);
                command.arg("bound").args([layout.as_path(), directory]);
                command
            }
            Way::MsbLoad { layout } => {
                let mut command = msb.in_home(directory).command();
                command.args(["load", "--quiet", "--tag", "bench/image:latest"]);
                command.arg(layout);
                command
            }
            Way::MsbPull { reference } => {
                let mut command = msb.in_home(directory).command();
                command.args(["pull", "--quiet", "--plain-http", reference]);
                command
            }
            Way::Script { text, blobs } => {
                let mut command = Command::new("sh");
                command.args(["-c", text]).arg(directory).args(blobs);
                command
            }
            Way::Umoci { layout, tag } => {
                let mut command = Command::new("umoci");
                command.arg("unpack");
                if !rustix::process::geteuid().is_root() {
                    command.arg("--rootless");
                }
                command.arg("--image").arg(image("", layout, tag));
                command.arg(directory.join("bundle"));
                command
            }
            Way::Skopeo { layout, tag } => {
                let mut command = Command::new("skopeo");
                command.args(["copy", "--quiet", "--insecure-policy"]);
                command.arg(image("oci:", layout, tag));
                command.arg(image("dir:", directory, ""));
                command
            }
            Way::SkopeoPull { reference } => {
                let mut command = Command::new("skopeo");
                command.args(["copy", "--quiet", "--insecure-policy"]);
                command.arg("--src-tls-verify=false");
                command.arg(format!("docker://{reference}"));
                command.arg(image("dir:", directory, ""));
                command
            }
        })
    }
}

/// Returns the name of an image for umoci and skopeo.
fn image(transport: &str, path: &Path, tag: &str) -> std::ffi::OsString {
    let mut words = std::ffi::OsString::from(transport);
    words.push(path);
    if !tag.is_empty() {
        words.push(OsStr::new(":"));
        words.push(tag);
    }
    words
}
