//! Computes the id of this build, `MSB_BUILD`: the version and a digest of the sources of
//! this crate and of the crates whose values and records are in its files. Clients of a sandbox and the
//! programs that they start share all of them, and everything that they exchange in files. Neither a
//! clock nor a path has a part in the id.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

const SOURCES: [&str; 4] = [
    "src",
    "../sandbox-model/src",
    "../machine-records/src",
    "../sandbox-snapshots/src",
];
/// The bytes of the digest that are in the id.
const ID_BYTES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let mut digest = Sha256::new();
    for directory in SOURCES {
        println!("cargo::rerun-if-changed={directory}");
        add(&mut digest, Path::new(directory))?;
    }
    let digest = digest.finalize();
    let version = std::env::var("CARGO_PKG_VERSION")?;
    let id = hex::encode(&digest[..ID_BYTES]);
    println!("cargo::rustc-env=MSB_BUILD={version}+{id}");
    Ok(())
}

/// Adds the names and contents of all files below a directory, in the order of their names.
fn add(digest: &mut Sha256, directory: &Path) -> Result<(), Box<dyn Error>> {
    let entries = fs::read_dir(directory)?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names.collect::<Result<Vec<OsString>, _>>()?;
    names.sort();
    for name in names {
        let path = directory.join(&name);
        if path.is_dir() {
            add(digest, &path)?;
            continue;
        }
        for part in [path.as_os_str().as_encoded_bytes(), &fs::read(&path)?] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    Ok(())
}
