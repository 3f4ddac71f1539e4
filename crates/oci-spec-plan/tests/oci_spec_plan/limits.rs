//! Limits: the values of cgroup v2.

use oci_spec_plan::{SpecError, plan_resources};

use super::specification::{container, paths, planned, refusal};

/// Returns the values that resources become.
fn controls(resources: &str) -> Vec<(String, String)> {
    let cgroup = plan_resources(resources.as_bytes()).expect("it is supported");
    let controls = cgroup.controls.into_iter();
    controls
        .map(|control| (control.file, control.value))
        .collect()
}

#[test]
fn fields_of_both_versions_become_values_of_version_2() {
    let expectations: &[(&str, &[(&str, &str)])] = &[
        ("{}", &[]),
        (r#"{"memory": {"limit": 1000}}"#, &[("memory.max", "1000")]),
        (r#"{"memory": {"limit": -1}}"#, &[("memory.max", "max")]),
        (
            r#"{"memory": {"limit": 1000, "swap": 1500}}"#,
            &[("memory.max", "1000"), ("memory.swap.max", "500")],
        ),
        (r#"{"memory": {"swap": -1}}"#, &[("memory.swap.max", "max")]),
        (r#"{"memory": {"swap": 0}}"#, &[]),
        (r#"{"memory": {"reservation": 7}}"#, &[("memory.low", "7")]),
        (r#"{"cpu": {"shares": 1024}}"#, &[("cpu.weight", "39")]),
        (r#"{"cpu": {"quota": 5000}}"#, &[("cpu.max", "5000 100000")]),
        (r#"{"cpu": {"period": 5000}}"#, &[("cpu.max", "max 5000")]),
        (
            r#"{"cpu": {"quota": -1, "period": 5000, "burst": 3}}"#,
            &[("cpu.max", "max 5000"), ("cpu.max.burst", "3")],
        ),
        (r#"{"cpu": {"idle": 1}}"#, &[("cpu.idle", "1")]),
        (r#"{"pids": {"limit": 9}}"#, &[("pids.max", "9")]),
        (r#"{"pids": {"limit": -1}}"#, &[("pids.max", "max")]),
        (r#"{"pids": {"limit": 0}}"#, &[]),
        (
            r#"{"unified": {"memory.high": "5", "cpuset.cpus": "0-3"}}"#,
            &[("memory.high", "5")],
        ),
    ];
    for (resources, expected) in expectations {
        let found = controls(resources);
        let found: Vec<_> = found
            .iter()
            .map(|(file, value)| (file.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, *expected, "{resources}");
    }
}

#[test]
fn limits_that_a_guest_does_not_have_are_refused() {
    for (value, path) in [
        (r#"{"memory": {"swap": 5}}"#, "memory.swap"),
        (r#"{"memory": {"limit": 5, "swap": 4}}"#, "memory.swap"),
        (
            r#"{"memory": {"disableOOMKiller": true}}"#,
            "memory.disableOOMKiller",
        ),
        (r#"{"cpu": {"realtimeRuntime": 5}}"#, "cpu.realtimeRuntime"),
        (r#"{"cpu": {"shares": -5}}"#, "cpu.shares"),
        (
            r#"{"hugepageLimits": [{"pageSize": "2MB", "limit": 1}]}"#,
            "hugepageLimits[0].limit",
        ),
        (r#"{"blockIO": {"weight": 10}}"#, "blockIO"),
        (r#"{"rdma": {"mlx": {"hcaHandles": 1}}}"#, "rdma"),
        (r#"{"network": {"classID": 1}}"#, "network"),
        (r#"{"unified": {"io.max": "1"}}"#, "unified[\"io.max\"]"),
        (
            r#"{"unified": {"cgroup.procs": "1"}}"#,
            "unified[\"cgroup.procs\"]",
        ),
        (
            r#"{"unified": {"memory.high": 1}}"#,
            "unified[\"memory.high\"]",
        ),
    ] {
        let refusal = refusal("/linux/resources", value);
        assert_eq!(refusal.path, format!("linux.resources.{path}"), "{value}");
        let error = plan_resources(value.as_bytes());
        assert!(
            matches!(error, Err(SpecError::Refused(same)) if same == refusal),
            "{value}"
        );
    }
    let error = plan_resources(br#"{"unified": {"memory.high": "1\n2"}}"#);
    assert!(matches!(error, Err(SpecError::Plan(_))));
}

#[test]
fn processors_of_the_host_are_ignored_with_a_note() {
    let value = r#"{"cpus": "4-7", "mems": "0", "shares": 2}"#;
    let plan = planned("/linux/resources/cpu", value);
    assert_eq!(plan.container.cgroup.controls.len(), 1);
    let notes = paths(&plan.notes);
    assert!(notes.contains(&"linux.resources.cpu.cpus"));
    assert!(notes.contains(&"linux.resources.cpu.mems"));
    let value = r#"{"cpuset.cpus": "4-7"}"#;
    assert!(
        container("/linux/resources/unified", value)
            .cgroup
            .controls
            .is_empty()
    );
}
