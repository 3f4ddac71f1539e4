//! Namespaces, host names, kernel parameters and devices.

use container_plan::NamespaceScope;

use super::specification::{container, paths, plan, planned, refusal, refused, with};

/// The namespaces of a container, each a line of JSON.
const NAMESPACES: [&str; 5] = [
    r#"{"type": "pid"}"#,
    r#"{"type": "ipc"}"#,
    r#"{"type": "uts"}"#,
    r#"{"type": "mount"}"#,
    r#"{"type": "network"}"#,
];

/// Returns a specification whose namespaces lack one.
fn without(index: usize) -> String {
    let mut namespaces = NAMESPACES.to_vec();
    namespaces.remove(index);
    with("/linux/namespaces", &format!("[{}]", namespaces.join(", ")))
}

#[test]
fn a_namespace_of_the_host_is_the_pods() {
    let plan = plan(&without(0)).expect("it is supported");
    assert_eq!(plan.container.namespaces.pid(), NamespaceScope::Pod);
    assert_eq!(plan.container.namespaces.ipc(), NamespaceScope::Container);
    assert!(paths(&plan.notes).contains(&"linux.namespaces"));
}

#[test]
fn the_network_and_the_mounts_of_the_host_are_refused() {
    for index in [3, 4] {
        let refusal = refused(plan(&without(index)));
        assert_eq!(refusal.path, "linux.namespaces");
        assert!(refusal.remedy.is_some());
    }
}

#[test]
fn namespaces_that_a_guest_does_not_have_are_refused() {
    for (value, path) in [
        (r#"{"type": "user"}"#, "linux.namespaces[5].type"),
        (r#"{"type": "time"}"#, "linux.namespaces[5].type"),
        (r#"{"type": "pid"}"#, "linux.namespaces[5].type"),
        (
            r#"{"type": "cgroup", "path": "/proc/1/ns/cgroup"}"#,
            "linux.namespaces[5].path",
        ),
        (
            r#"{"type": "cgroup", "colour": "red"}"#,
            "linux.namespaces[5].colour",
        ),
        (r#"{"path": "/proc/1/ns/pid"}"#, "linux.namespaces[5].type"),
    ] {
        assert_eq!(refusal("/linux/namespaces/-", value).path, path, "{value}");
    }
    let value = r#"[{"type": "pid", "path": "/proc/1/ns/pid"}]"#;
    assert_eq!(
        refusal("/linux/namespaces", value).path,
        "linux.namespaces[0].path"
    );
}

#[test]
fn a_host_name_needs_a_namespace() {
    assert_eq!(container("/hostname", "\"web\"").hostname, "web");
    let mut config: serde_json::Value = serde_json::from_str(&without(2)).expect("it is JSON");
    config["hostname"] = "web".into();
    assert_eq!(refused(plan(&config.to_string())).path, "hostname");
}

#[test]
fn parameters_of_the_containers_namespaces_are_set() {
    let value = r#"{"fs.mqueue.msg_max": "2", "kernel.shmmax": "1", "net/ipv4/tcp_rmem": "1 2 3"}"#;
    let container = container("/linux/sysctl", value);
    let names: Vec<_> = container
        .sysctls
        .iter()
        .map(|sysctl| sysctl.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["fs.mqueue.msg_max", "kernel.shmmax", "net.ipv4.tcp_rmem"]
    );
    for name in [
        "vm.swappiness",
        "kernel.hostname",
        "kernel.core_pattern",
        "network",
    ] {
        let refusal = refusal("/linux/sysctl", &format!(r#"{{"{name}": "1"}}"#));
        assert_eq!(refusal.path, format!("linux.sysctl[\"{name}\"]"));
    }
}

#[test]
fn a_device_is_one_of_the_guests() {
    let fuse = r#"[{"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229, "fileMode": 8630, "uid": 1, "gid": 2}]"#;
    let container = container("/linux/devices", fuse);
    let device = &container.devices[0];
    assert_eq!((device.mode, device.uid, device.gid), (0o666, 1, 2));
    let null = r#"[{"path": "/dev/null", "type": "c", "major": 1, "minor": 3}]"#;
    assert!(self::container("/linux/devices", null).devices.is_empty());
    for device in [
        r#"[{"path": "/dev/sda", "type": "b", "major": 8, "minor": 0}]"#,
        r#"[{"path": "/dev/kmsg", "type": "c", "major": 1, "minor": 11}]"#,
        r#"[{"path": "/dev/null", "type": "c", "major": 8, "minor": 3}]"#,
        r#"[{"path": "/dev/p", "type": "p"}]"#,
    ] {
        assert_eq!(
            refusal("/linux/devices", device).path,
            "linux.devices[0].path"
        );
    }
}

#[test]
fn without_rules_no_further_device_is_allowed() {
    let rules = container("/linux/resources/devices", "[]")
        .cgroup
        .device_rules;
    assert_eq!(rules.len(), 1);
    assert!(!rules[0].is_allowed && rules[0].access == "rwm");
    let all = r#"[{"allow": true, "type": "a", "major": -1, "minor": -1, "access": ""}]"#;
    let rules = container("/linux/resources/devices", all)
        .cgroup
        .device_rules;
    assert_eq!(rules.len(), 1);
    assert_eq!(
        (rules[0].is_allowed, rules[0].major, rules[0].minor),
        (true, None, None)
    );
    let fuse = r#"[{"allow": true, "type": "c", "major": 10, "minor": 229, "access": "rwm"}]"#;
    let rules = container("/linux/resources/devices", fuse)
        .cgroup
        .device_rules;
    assert_eq!(rules.len(), 2, "others are denied");
    assert!(!rules[0].is_allowed && rules[1].is_allowed);
    let other = r#"[{"allow": true, "type": "x"}]"#;
    let refusal = refusal("/linux/resources/devices", other);
    assert_eq!(refusal.path, "linux.resources.devices[0].type");
}

#[test]
fn the_root_is_not_shared() {
    use container_plan::Propagation;

    let container = container("/linux/rootfsPropagation", "\"rslave\"");
    assert_eq!(container.root_propagation(), Propagation::RecursiveSlave);
    let refusal = refusal("/linux/rootfsPropagation", "\"rshared\"");
    assert_eq!(refusal.path, "linux.rootfsPropagation");
    let plan = planned(
        "/linux/mountLabel",
        "\"system_u:object_r:container_file_t:s0\"",
    );
    assert!(paths(&plan.notes).contains(&"linux.mountLabel"));
}
