//! The bill of materials of a release, in the format CycloneDX 1.6.

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::dependencies::Crate;
use crate::kernel::{Kernel, Kernels};
use crate::release::{HOMEPAGE, LICENCES, Release, SUMMARY};

/// The reference of the release itself.
const MSB: &str = "msb";
/// The references of the kernels.
const KERNELS: [&str; 2] = ["kernel", "kernel-filesystems"];

/// Returns the document.
///
/// # Errors
/// If the release's time is not one.
pub(crate) fn document(release: &Release, crates: &[Crate], kernels: &Kernels) -> Result<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(release.epoch_s)?)?;
    let [usual, with_filesystems] = KERNELS;
    let mut components = vec![
        of_kernel(usual, "The kernel of sandboxes", &kernels.usual),
        of_kernel(
            with_filesystems,
            "The kernel of sandboxes whose root is XFS or Btrfs",
            &kernels.with_filesystems,
        ),
    ];
    components.extend(crates.iter().map(of_crate));
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.to_string(),
            "component": {
                "type": "application",
                "bom-ref": MSB,
                "name": "msb",
                "version": release.version,
                "description": SUMMARY,
                "licenses": [{"expression": LICENCES}],
                "externalReferences": [{"type": "vcs", "url": HOMEPAGE}],
            },
        },
        "components": components,
        "dependencies": dependencies(crates),
    });
    // The same content has the same number: it names the document, not the run that made it.
    let digest = Sha256::digest(serde_json::to_vec(&document)?);
    document["serialNumber"] = Value::from(format!("urn:uuid:{}", uuid(&digest)));
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn of_crate(each: &Crate) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(each),
        "name": each.name,
        "version": each.version,
    });
    if let Some(sha256) = &each.sha256 {
        component["purl"] = Value::from(reference(each));
        component["hashes"] = json!([{"alg": "SHA-256", "content": sha256}]);
    }
    if let Some(licence) = &each.licence {
        // Older crates write a slash for "or".
        let licence = licence.replace('/', " OR ");
        component["licenses"] = json!([{"expression": licence}]);
    }
    component
}

fn of_kernel(reference: &str, description: &str, kernel: &Kernel) -> Value {
    json!({
        "type": "operating-system",
        "bom-ref": reference,
        "name": "linux",
        "version": kernel.release,
        "description": description,
        "licenses": [{"expression": "GPL-2.0-only WITH Linux-syscall-note"}],
        "hashes": [{"alg": "SHA-256", "content": hex::encode(Sha256::digest(&kernel.bytes))}],
        "pedigree": {"notes": kernel.offer},
    })
}

fn dependencies(crates: &[Crate]) -> Vec<Value> {
    let own = crates.iter().filter(|each| each.is_own()).map(reference);
    let mut of_msb: Vec<String> = own.collect();
    of_msb.extend(KERNELS.map(str::to_owned));
    let mut dependencies = vec![json!({"ref": MSB, "dependsOn": of_msb})];
    dependencies.extend(crates.iter().map(|each| {
        let uses: Vec<String> = each
            .uses
            .iter()
            .map(|&used| reference(&crates[used]))
            .collect();
        json!({"ref": reference(each), "dependsOn": uses})
    }));
    dependencies
}

/// Returns the package URL of a crate, which is also its reference.
fn reference(each: &Crate) -> String {
    // A plus sign, which stands before the build of a version, means a space in a URL.
    let version = each.version.replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", each.name)
}

/// Returns a UUID (RFC 9562, version 8) of a digest.
fn uuid(digest: &[u8]) -> String {
    let mut bytes: Vec<u8> = digest.iter().copied().take(16).collect();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(bytes);
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_component() {
        let crates = [
            Crate {
                name: "a".to_owned(),
                version: "1.0.0+b".to_owned(),
                licence: Some("MIT/Apache-2.0".to_owned()),
                folder: "/a".into(),
                sha256: Some("ab".to_owned()),
                uses: Vec::new(),
            },
            Crate {
                name: "msb".to_owned(),
                version: "1.2.3".to_owned(),
                licence: None,
                folder: "/msb".into(),
                sha256: None,
                uses: vec![0],
            },
        ];
        let kernel = Kernel {
            bytes: b"kernel".to_vec(),
            release: "6.12.1-msb".to_owned(),
            offer: "the source".to_owned(),
            source: crate::tree::Tree::default(),
        };
        let kernels = Kernels {
            usual: kernel.clone(),
            with_filesystems: kernel,
        };
        let text = document(&Release::of_tests(), &crates, &kernels).expect("a document");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let references: Vec<&Value> = document["components"]
            .as_array()
            .expect("components")
            .iter()
            .map(|component| &component["bom-ref"])
            .collect();
        for dependency in document["dependencies"].as_array().expect("dependencies") {
            for used in dependency["dependsOn"].as_array().expect("a list") {
                assert!(references.contains(&used), "{used}");
            }
        }
        assert_eq!(references[2], "pkg:cargo/a@1.0.0%2Bb");
        assert_eq!(
            document["components"][2]["licenses"][0]["expression"],
            "MIT OR Apache-2.0"
        );
        assert_eq!(document["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
    }
}
