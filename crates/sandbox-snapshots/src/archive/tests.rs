use msb_runtime::{Mount, Resources, Source, Spec, VOLUME_BYTES};
use serde_json::{Value, json};

use super::super::{Consistency, Snapshot};
use super::record::Archived;
use super::{ImportError, options};
use testkit::sandboxes;

/// The resources of a sandbox that is created without options.
const MOST: Resources = Resources {
    cpus: 2,
    memory_mib: 1024,
    upper_bytes: 8 << 30,
};

#[test]
fn an_archive_takes_no_more_of_the_host_than_a_new_sandbox() {
    let mount = |target: &str, source| Mount {
        target: target.parse().expect("a target"),
        read_only: false,
        source,
    };
    let mut spec = sandboxes::spec("a");
    (spec.cpus, spec.memory_mib) = (255, 40_000);
    let size_bytes = 15 << 40;
    spec.mounts = vec![
        mount("/v", Source::Anonymous { size_bytes }),
        mount("/w", Source::Anonymous { size_bytes: 4096 }),
    ];
    let (options, left_out) = options::imported(spec, None, 4096, MOST);
    let resources = options.resources;
    assert_eq!((resources.cpus, resources.memory_mib), (2, 1024));
    let sizes = options.mounts.iter().map(|mount| match mount.source {
        Source::Anonymous { size_bytes } => size_bytes,
        _ => 0,
    });
    assert!(sizes.eq([VOLUME_BYTES, 4096]));
    assert_eq!(
        left_out,
        [
            "the size of the volume at /v",
            "the memory of 40000 MiB",
            "the number of 255 processors"
        ]
    );
    let mut small = sandboxes::spec("a");
    (small.cpus, small.memory_mib) = (1, 512);
    let (options, left_out) = options::imported(small, None, 4096, MOST);
    assert_eq!(
        (options.resources.cpus, options.resources.memory_mib),
        (1, 512)
    );
    assert!(left_out.is_empty(), "{left_out:?}");
}

fn archived(spec: Spec) -> Archived {
    let snapshot = Snapshot {
        name: "clean".parse().expect("a name"),
        number: 7,
        created_s: 1,
        message: Some("a note".to_owned()),
        is_automatic: true,
        command: None,
        is_of_undo: false,
        consistency: Consistency::Frozen,
        size_bytes: 4096,
        image_digest: "sha256:0".to_owned(),
        state: "00".to_owned(),
    };
    Archived::new(snapshot, oci_image::Digest::compute(b"config"), spec)
}

/// Returns the record with a change of its JSON, sealed again.
fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::to_value(archived(sandboxes::spec("a"))).expect("written");
    change(&mut value);
    sealed_records::seal(&value).expect("sealed")
}

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let error = Archived::parse(&changed(change)).expect_err("invalid");
    error.to_string()
}

#[test]
fn a_record_comes_back_and_a_changed_one_is_refused() {
    let archived = archived(sandboxes::spec("a"));
    let sealed = archived.sealed().expect("sealed");
    assert_eq!(Archived::parse(&sealed).expect("whole"), archived);
    let text = String::from_utf8(sealed).expect("text");
    let forged = text.replace("a note", "a lie!");
    assert!(matches!(
        Archived::parse(forged.as_bytes()),
        Err(ImportError::Record { .. })
    ));
}

#[test]
fn a_hostile_record_is_refused_by_name() {
    let newer = Archived::parse(&changed(|record| record["format"] = json!(2)));
    assert!(
        matches!(
            newer,
            Err(ImportError::Format {
                found: 2,
                newest: 1
            })
        ),
        "{newer:?}"
    );
    let named =
        |word: &'static str| refused(move |record| record["snapshot"]["name"] = json!(word));
    for name in ["../x", "", "a@b", "a\u{1b}"] {
        assert!(named(name).contains("snapshot.json"), "{name}");
    }
    let message = refused(|record| record["snapshot"]["message"] = json!("\u{1b}[2J"));
    assert!(message.contains("control characters"), "{message}");
    let label = refused(|record| record["sandbox"]["labels"] = json!({ "a\u{7}": "b" }));
    assert!(label.contains("control characters"), "{label}");
    let idle = refused(|record| record["sandbox"]["cpus"] = json!(0));
    assert!(idle.contains("no processor"), "{idle}");
    let over_a_disk = refused(|record| {
        record["sandbox"]["root_disk"] = json!({
            "path": "/etc/shadow", "format": "raw", "filesystem": "ext4", "partition": null,
        });
    });
    assert!(over_a_disk.contains("disk image"), "{over_a_disk}");
    let setting = refused(|record| record["sandbox"]["lifetime"]["uptime"] = json!(1));
    assert!(setting.contains("'lifetime.uptime'"), "{setting}");
    refused(|record| record["sandbox"]["memory_mib"] = json!(-1));
    refused(|record| record["sandbox"] = json!([]));
    for bytes in [&b""[..], b"[]", b"{}", b"{\"format\": 4294967296}"] {
        Archived::parse(bytes).expect_err("no record");
    }
}

#[test]
fn nothing_of_an_archive_leads_to_this_host() {
    let mount = |target: &str, source| Mount {
        target: target.parse().expect("a target"),
        read_only: false,
        source,
    };
    let mut spec = sandboxes::spec("a");
    spec.remove_when_stopped = true;
    spec.mounts = vec![
        mount(
            "/host",
            Source::Bind {
                directory: "/".into(),
                rules: Vec::new(),
            },
        ),
        mount(
            "/file",
            Source::BindFile {
                file: "/etc/shadow".into(),
            },
        ),
        mount(
            "/data",
            Source::Volume {
                volume: "data".parse().expect("a name"),
            },
        ),
        mount(
            "/own",
            Source::Anonymous {
                size_bytes: 1 << 20,
            },
        ),
    ];
    let network = json!({
        "reach": "listed",
        "allow": ["127.0.0.1"],
        "deny": ["1.1.1.1"],
        "publish": ["127.0.0.1:8080:80/tcp"],
        "resolvers": ["10.0.0.1:53"],
    });
    spec.network = Some(serde_json::from_value(network).expect("settings"));
    let (options, left_out) = options::imported(spec, Some("b".to_owned()), 4096, MOST);
    assert_eq!(options.name.as_deref(), Some("b"));
    assert_eq!(options.mounts.len(), 1);
    assert!(!options.remove_when_stopped);
    assert!(
        left_out
            .iter()
            .any(|one| one == "the host directory at /host")
    );
    let network = options.network.expect("a network");
    assert!(network.allow.is_empty() && network.publish.is_empty() && network.resolvers.is_empty());
    assert_eq!(network.deny.len(), 1);
    assert_eq!(left_out.len(), 6, "{left_out:?}");
}
