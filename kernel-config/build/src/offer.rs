//! What the kernel's licence asks for: the text that says from which source the kernel was built,
//! with the configuration and the patches.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::architecture::Architecture;
use crate::source::Pin;
use crate::{compile, source};

const TEMPLATE: &str = include_str!("SOURCE.md");
const REPOSITORY: &str = "https://github.com/msb/msb";

/// Returns the text that travels with every copy of the kernel.
pub(crate) fn text(
    architecture: &Architecture,
    kernel: &[u8],
    pin: &Pin,
    toolchain: &str,
) -> String {
    let variables = compile::VARIABLES.map(|(name, value)| format!("{name}='{value}'"));
    let (patched, patch) = if architecture.patches.is_empty() {
        ("", "")
    } else {
        (
            ", with the patches in `patches`",
            "cat patches/*.patch | patch --strip=1 --directory=linux\n",
        )
    };
    let name = architecture.kernel;
    let built = architecture.built(Path::new("linux"));
    let built = built.display();
    let (file, finish) = if architecture.has_symbols() {
        let strip = architecture.tool("strip");
        (
            format!("`{name}`, stripped"),
            format!("{strip} --strip-all -o {name} {built}"),
        )
    } else {
        (format!("`{name}`"), format!("cp {built} {name}"))
    };
    let mut make = architecture.make_variables();
    make.extend(variables);
    let values = [
        ("FILE", file),
        ("PATCHED", patched.to_owned()),
        ("PATCH", patch.to_owned()),
        ("KERNEL", name.to_owned()),
        ("FINISH", finish),
        ("KERNEL_SHA256", hex::encode(Sha256::digest(kernel))),
        ("PACKAGE", source::PACKAGE.to_owned()),
        ("VERSION", pin.version.clone()),
        ("SOURCE_SHA256", pin.sha256.clone()),
        ("ARCHIVE", source::ARCHIVE.to_owned()),
        ("TOOLCHAIN", toolchain.trim_end().replace('\n', "; ")),
        ("VARIABLES", make.join(" ")),
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
    use crate::architecture;

    #[test]
    fn every_value_is_filled_in() {
        let pin = Pin {
            version: "6.12.1-1".to_owned(),
            sha256: "00".repeat(32),
        };
        for architecture in &architecture::ALL {
            let text = text(architecture, b"kernel", &pin, "gcc 12\nld 2.40\n");
            assert!(!text.contains('@'), "{text}");
            assert!(text.contains("| gcc 12; ld 2.40 |"), "{text}");
            assert!(text.contains(&hex::encode(Sha256::digest(b"kernel"))));
            let has_patches = text.contains("patch --strip=1");
            assert_eq!(has_patches, !architecture.patches.is_empty(), "{text}");
            assert!(
                text.contains(&format!(" {}\n", architecture.kernel)),
                "{text}"
            );
        }
    }
}
