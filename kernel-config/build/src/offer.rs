//! What the kernel's licence asks for: the text that says from which source the kernel was built,
//! with the configuration and the patches.

use sha2::{Digest as _, Sha256};

use crate::source::Pin;
use crate::{compile, source};

const TEMPLATE: &str = include_str!("SOURCE.md");
const REPOSITORY: &str = "https://github.com/msb/msb";

/// Returns the text that travels with every copy of the kernel.
pub(crate) fn text(vmlinux: &[u8], pin: &Pin, toolchain: &str) -> String {
    let variables = compile::VARIABLES.map(|(name, value)| format!("{name}='{value}'"));
    let values = [
        ("KERNEL_SHA256", hex::encode(Sha256::digest(vmlinux))),
        ("PACKAGE", source::PACKAGE.to_owned()),
        ("VERSION", pin.version.clone()),
        ("SOURCE_SHA256", pin.sha256.clone()),
        ("ARCHIVE", source::ARCHIVE.to_owned()),
        ("TOOLCHAIN", toolchain.trim_end().replace('\n', "; ")),
        ("VARIABLES", variables.join(" ")),
        ("REPOSITORY", REPOSITORY.to_owned()),
    ];
    values
        .iter()
        .fold(TEMPLATE.to_owned(), |text, (name, value)| {
            text.replace(&format!("@{name}@"), value)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_filled_in() {
        let pin = Pin {
            version: "6.12.1-1".to_owned(),
            sha256: "00".repeat(32),
        };
        let text = text(b"kernel", &pin, "gcc 12\nld 2.40\n");
        assert!(!text.contains('@'), "{text}");
        assert!(text.contains("| gcc 12; ld 2.40 |"), "{text}");
        assert!(text.contains(&hex::encode(Sha256::digest(b"kernel"))));
    }
}
