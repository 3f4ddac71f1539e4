use msb_guest_trust::TrustFiles;
use msb_network::Settings;
use msb_runtime::{Mount, Resources, Rule, RuleState, Source, Spec, Staged, VOLUME_BYTES};
use msb_secrets::Secret;
use serde_json::{Value, json};

use super::super::{Snapshot, SnapshotConsistency};
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
    let (options, left_out) = options::imported(spec, None, 4096, MOST, false);
    let resources = options.resources;
    assert_eq!((resources.cpus, resources.memory_mib), (2, 1024));
    let sizes = options.mounts.iter().map(|mount| match mount.source {
        Source::Anonymous { size_bytes } => size_bytes,
        _ => 0,
    });
    assert!(sizes.eq([VOLUME_BYTES, 4096]));
    let left_out: Vec<&str> = left_out.iter().map(|one| &one.what[..]).collect();
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
    let (options, left_out) = options::imported(small, None, 4096, MOST, false);
    assert_eq!(
        (options.resources.cpus, options.resources.memory_mib),
        (1, 512)
    );
    assert!(left_out.is_empty(), "{left_out:?}");
}

fn archived(spec: Spec) -> Archived {
    archived_with(spec, Vec::new())
}

/// Returns a record with images of staged directories of these sizes.
fn archived_with(spec: Spec, sizes: Vec<u64>) -> Archived {
    let snapshot = Snapshot {
        name: "clean".parse().expect("a name"),
        number: 7,
        created_s: 1,
        message: Some("a note".to_owned()),
        is_automatic: true,
        command: None,
        is_of_undo: false,
        consistency: SnapshotConsistency::Frozen,
        size_bytes: 4096,
        image_digest: "sha256:0".to_owned(),
        state: "00".to_owned(),
    };
    let config = oci_image::Digest::compute(b"config");
    Archived::new(snapshot, config, spec, sizes)
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
    let newer = Archived::parse(&changed(|record| record["format"] = json!(3)));
    assert!(
        matches!(
            newer,
            Err(ImportError::Format {
                found: 3,
                newest: 2
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
    spec.guest.sockets = vec!["/run/host.sock:/tmp/s".parse().expect("a forward")];
    spec.guest.forward_agent = true;
    let (options, left_out) = options::imported(spec, Some("b".to_owned()), 4096, MOST, false);
    assert!(options.guest.sockets.is_empty() && !options.guest.forward_agent);
    assert_eq!(options.name.as_deref(), Some("b"));
    assert_eq!(options.mounts.len(), 1);
    assert!(!options.remove_when_stopped);
    assert!(
        left_out
            .iter()
            .any(|one| one.what == "the host directory at /host")
    );
    let network = options.network.expect("a network");
    assert!(network.allow.is_empty() && network.publish.is_empty() && network.resolvers.is_empty());
    assert_eq!(network.deny.len(), 1);
    assert_eq!(left_out.len(), 8, "{left_out:?}");
}

#[test]
fn a_secret_is_not_imported_and_its_source_is_not_exported() {
    let text = "name=TOKEN,from=cmd:echo hunter2,every=1h,to=api.example.com";
    let mut secret: Secret = text.parse().expect("a secret");
    secret.draw_placeholder().expect("randomness");
    let placeholder = secret.placeholder.clone().expect("drawn");
    let mut spec = sandboxes::spec("a");
    spec.process.env = vec![format!("TOKEN={placeholder}"), "A=1".to_owned()];
    spec.network = Some(Settings {
        secrets: vec![secret],
        requests: vec!["api.example.com/v1/*".parse().expect("a destination")],
        ..Settings::default()
    });
    let sealed = archived(spec.clone()).sealed().expect("sealed");
    let record = String::from_utf8(sealed.clone()).expect("text");
    assert!(
        !record.contains("hunter2") && record.contains("TOKEN"),
        "{record}"
    );
    let read = Archived::parse(&sealed).expect("whole");
    for spec in [spec, read.sandbox] {
        let (options, left_out) = options::imported(spec, None, 4096, MOST, false);
        let network = options.network.expect("a network");
        assert!(network.secrets.is_empty() && network.requests.is_empty());
        assert_eq!(options.process.env, ["A=1"]);
        assert_eq!(options.trust, TrustFiles::default());
        let left_out: Vec<&str> = left_out.iter().map(|one| &one.what[..]).collect();
        let expected = [
            "the secret TOKEN",
            "the HTTPS requests that --net-allow allows",
        ];
        assert_eq!(left_out, expected);
    }
}

/// Returns a staged directory at `/work` with these rules.
fn staged(directory: Option<&str>, rules: &[&str], default_rules: bool) -> Mount {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>());
    let rules = rules.map(|rule| rule.expect("a rule"));
    Mount {
        target: "/work".parse().expect("a target"),
        read_only: false,
        source: Source::Staged(Staged {
            directory: directory.map(Into::into),
            rules: rules.collect(),
            default_rules,
        }),
    }
}

#[test]
fn a_staged_directory_of_an_archive_leads_to_no_host_and_lets_nothing_new_out() {
    let imported = |mount: Mount, has_images: bool| {
        let mut spec = sandboxes::spec("a");
        spec.mounts = vec![mount];
        let (options, left_out) = options::imported(spec, None, 4096, MOST, has_images);
        let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
        (options.mounts, left_out)
    };
    // An archive may name any path of this host.
    let rules = ["docs=read-only", "keys=hide", "sealed=deny"];
    let hostile = staged(Some("/etc"), &rules, true);
    let kept = staged(None, &rules, true);
    assert_eq!(imported(hostile.clone(), true), (vec![kept], Vec::new()));
    let (mounts, left_out) = imported(hostile, false);
    assert!(mounts.is_empty());
    let [left_out] = &left_out[..] else {
        panic!("{left_out:?}");
    };
    assert!(left_out.starts_with("the staged directory at /work was left out"));
    // Rules that let changes out are for the user of this host to give.
    for hostile in [
        staged(None, &[".envrc=allow", "docs=read-only"], true),
        staged(
            None,
            &["Makefile=write-ask", "docs=read-only", "x=ask"],
            true,
        ),
        staged(None, &["docs=read-only"], false),
    ] {
        let (mounts, left_out) = imported(hostile, true);
        assert_eq!(mounts, [staged(None, &["docs=read-only"], true)]);
        assert_eq!(
            left_out,
            ["each rule of /work that lets changes out was left out: give it again with msb allow"]
        );
    }
    let (mounts, _) = imported(staged(None, &[".envrc=allow"], false), true);
    let Source::Staged(closed) = &mounts[0].source else {
        panic!("it is staged");
    };
    let rules = closed.all_rules().expect("few");
    assert_eq!(rules.decide_outgoing(b".envrc").state, RuleState::ReadOnly);
}

#[test]
fn an_exported_record_has_no_path_of_a_staged_directory() {
    let mut spec = sandboxes::spec("a");
    spec.mounts = vec![staged(Some("/home/user/project"), &[], true)];
    let exported = archived_with(spec, vec![4096, 8192]);
    let sealed = exported.sealed().expect("sealed");
    let text = String::from_utf8(sealed.clone()).expect("text");
    assert!(!text.contains("/home/user"), "{text}");
    let read = Archived::parse(&sealed).expect("whole");
    assert_eq!(read.staged, [4096, 8192]);
}

#[test]
fn images_that_no_export_writes_are_refused() {
    let with = |sizes: Vec<u64>, mounts: Vec<Mount>| {
        let mut spec = sandboxes::spec("a");
        spec.mounts = mounts;
        let record = archived_with(spec, sizes);
        Archived::parse(&record.sealed().expect("sealed"))
    };
    let mount = || vec![staged(None, &[], true)];
    with(vec![0; 257], mount()).expect("as many as there can be");
    let error = with(vec![0; 258], mount()).expect_err("too many");
    assert!(error.to_string().contains("258 images"), "{error}");
    let error = with(vec![1], Vec::new()).expect_err("of nothing");
    let is_named = error.to_string().contains("no staged directory");
    assert!(is_named, "{error}");
}
