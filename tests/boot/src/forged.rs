//! Certificates that somebody signs who has the key of a sandbox's authority.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use test_support::describe;

/// A certificate of a host, and its key.
pub(crate) struct Forged {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Signs a certificate of a host with the authority in a sandbox's directory, and writes it into another directory.
pub(crate) fn forge(sandbox: &Path, host: &str, directory: &Path) -> Result<Forged> {
    let forged = Forged {
        certificate: directory.join("leaf.pem"),
        key: directory.join("leaf.key"),
    };
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=leaf"])
        .args(["-addext", &format!("subjectAltName=DNS:{host}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-CA")
        .arg(sandbox.join("ca.pem"))
        .arg("-CAkey")
        .arg(sandbox.join("ca.key"))
        .arg("-out")
        .arg(&forged.certificate)
        .arg("-keyout")
        .arg(&forged.key)
        .output()?;
    ensure!(made.status.success(), "openssl req: {}", describe(&made));
    Ok(forged)
}
