//! Mounts: their sources, their options, their refusals.

use container_plan::{Filesystem, Mount, MountSource, PodMemory, Propagation, flags};
use oci_spec_plan::{HostBind, MemoryVolume, Pod, plan_container};

use super::specification::{container, planned, refusal, with};

fn last(value: &str) -> Mount {
    let mount = container("/mounts/-", value).mounts.pop();
    mount.expect("there are mounts")
}

#[test]
fn a_bind_has_a_part_on_the_host() {
    let value = r#"{"destination": "/data", "source": "/srv/a", "options": ["bind", "rro", "noexec", "private"]}"#;
    let plan = planned("/mounts/-", value);
    let expected = HostBind {
        source: "/srv/a".to_owned(),
        entry: "0".to_owned(),
        is_read_only: true,
        is_recursive: false,
    };
    assert_eq!(plan.host.binds, [expected]);
    let mount = plan.container.mounts.last().expect("there are mounts");
    assert_eq!(mount.source, Some(MountSource::Share("0".to_owned())));
    assert_eq!(
        (mount.flags, mount.recursive_flags),
        (flags::NO_EXEC, flags::READ_ONLY)
    );
    assert_eq!(mount.propagation(), Propagation::Private);
}

#[test]
fn a_later_option_wins() {
    let value = r#"{"destination": "/t", "type": "tmpfs", "options": ["ro", "rw", "suid", "nosuid", "uid=1", "nr_inodes=5"]}"#;
    let mount = last(value);
    assert_eq!(mount.flags, flags::NO_SUID);
    assert_eq!(mount.data, "uid=1,nr_inodes=5");
    let value = r#"{"destination": "/t", "type": "tmpfs", "options": ["tmpcopyup"]}"#;
    assert!(last(value).copies_up);
    let value = r#"{"destination": "/c", "type": "cgroup2", "options": ["ro"]}"#;
    assert_eq!(last(value).filesystem(), Some(Filesystem::Cgroup2));
}

#[test]
fn a_directory_of_the_pods_memory_is_not_shared() {
    let volume = "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/m";
    let memory = PodMemory {
        name: "m".to_owned(),
        ..PodMemory::default()
    };
    let pod = Pod {
        memory: vec![MemoryVolume {
            host_path: volume.to_owned(),
            memory: memory.clone(),
        }],
        ..Pod::default()
    };
    for (source, path) in [("", Some("")), ("/sub/dir/", Some("sub/dir")), ("x", None)] {
        let value =
            format!(r#"{{"destination": "/m", "type": "bind", "source": "{volume}{source}"}}"#);
        let plan = plan_container("demo", with("/mounts/-", &value).as_bytes(), &pod);
        let mut plan = plan.expect("it is supported");
        let expected = match path {
            Some(path) => MountSource::PodMemory(PodMemory {
                path: path.to_owned(),
                ..memory.clone()
            }),
            None => MountSource::Share("0".to_owned()),
        };
        let mount = plan.container.mounts.pop().expect("there are mounts");
        assert_eq!(mount.source, Some(expected), "{source:?}");
    }
}

#[test]
fn a_mount_that_a_guest_cannot_make_is_refused() {
    let bind = |options: &str| {
        format!(
            r#"{{"destination": "/d", "type": "bind", "source": "/s", "options": [{options}]}}"#
        )
    };
    let from =
        |source: &str| format!(r#"{{"destination": "/d", "type": "bind", "source": "{source}"}}"#);
    let of = |kind: &str, options: &str| {
        format!(r#"{{"destination": "/d", "type": "{kind}", "options": [{options}]}}"#)
    };
    for (value, field) in [
        (bind("\"rbind\", \"rshared\""), "options[1]"),
        (bind("\"rslave\""), "options[0]"),
        (bind("\"idmap\""), "options[0]"),
        (bind("\"remount\""), "options[0]"),
        (bind("\"size=1\""), "options[0]"),
        (bind("1"), "options[0]"),
        (from("srv"), "source"),
        (from("/a/../b"), "source"),
        (from("/dev/net/tun"), "source"),
        (from("/proc"), "source"),
        (from("/sys/fs/cgroup"), "source"),
        (of("nfs", ""), "type"),
        (of("overlay", "\"lowerdir=/a\""), "type"),
        (of("sysfs", "\"size=1\""), "options[0]"),
        (of("tmpfs", "\"size=1,uid=0\""), "options[0]"),
        (of("proc", "\"rshared\""), "options[0]"),
        (
            r#"{"destination": "/d", "type": "bind"}"#.to_owned(),
            "destination",
        ),
        (r#"{"destination": "/d"}"#.to_owned(), "destination"),
        (
            r#"{"destination": "/", "type": "tmpfs"}"#.to_owned(),
            "destination",
        ),
        (r#"{"type": "tmpfs"}"#.to_owned(), "destination"),
        (
            r#"{"destination": "/d", "type": "tmpfs", "uidMappings": [{"size": 1}]}"#.to_owned(),
            "uidMappings",
        ),
    ] {
        let refusal = refusal("/mounts/-", &value);
        assert_eq!(refusal.path, format!("mounts[7].{field}"), "{value}");
    }
}

#[test]
fn devices_of_the_host_are_not_those_with_a_like_name() {
    let value = r#"{"destination": "/d", "type": "bind", "source": "/devices"}"#;
    assert_eq!(planned("/mounts/-", value).host.binds.len(), 1);
}
