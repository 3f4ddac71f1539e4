//! The fields of a process.

use container_plan::UNLIMITED;
use oci_spec_plan::{SpecError, plan_process};

use super::specification::{container, paths, plan, planned, refusal, with};

#[test]
fn a_process_of_an_exec_is_planned_alone() {
    let text = br#"{
        "terminal": true, "consoleSize": {"height": 24, "width": 80},
        "user": {"uid": 7, "gid": 8, "umask": 63, "additionalGids": [9]},
        "args": ["id"], "env": ["A=b"], "cwd": "/tmp",
        "capabilities": {"bounding": ["CAP_BPF"]},
        "rlimits": [{"type": "RLIMIT_AS", "soft": 1, "hard": 18446744073709551615}],
        "apparmorProfile": "cri-containerd.apparmor.d", "oomScoreAdj": -3
    }"#;
    let process = plan_process(text).expect("it is supported");
    assert_eq!((process.uid, process.gid), (7, 8));
    assert_eq!(
        (process.umask, process.oom_score_adj),
        (Some(0o077), Some(-3))
    );
    assert_eq!(process.additional_gids, [9]);
    assert_eq!(process.capabilities.bounding, 1 << 39);
    assert_eq!(
        (process.rlimits[0].soft, process.rlimits[0].hard),
        (1, UNLIMITED)
    );
    let size = process.terminal.expect("it has a terminal");
    assert_eq!((size.columns, size.rows), (80, 24));
    let error = plan_process(br#"{"args": ["id"], "cwd": "tmp"}"#);
    assert!(matches!(error, Err(SpecError::Plan(_))));
}

#[test]
fn a_size_without_a_terminal_has_no_effect() {
    let container = container("/process/consoleSize", r#"{"height": 1, "width": 1}"#);
    assert_eq!(container.process.terminal, None);
}

#[test]
fn null_is_a_missing_value() {
    let container = container("/process/capabilities", "null");
    assert_eq!(container.process.capabilities.bounding, 0);
    assert!(matches!(
        plan(&with("/process/args", "null")),
        Err(SpecError::Plan(_))
    ));
    let error = refusal("/process", "null");
    assert_eq!(
        error.to_string(),
        "process of the container's specification is missing: the runtime specification requires it"
    );
}

#[test]
fn labels_are_ignored_with_a_note() {
    let plan = planned(
        "/process/selinuxLabel",
        "\"system_u:system_r:container_t:s0\"",
    );
    assert_eq!(
        paths(&plan.notes),
        ["process.selinuxLabel", "root.path", "annotations"]
    );
}

#[test]
fn fields_of_a_wrong_type_are_named() {
    let expectations = [
        ("/process/args", "\"sh\"", "process.args", "\"sh\""),
        ("/process/args", "[\"sh\", 1]", "process.args[1]", "1"),
        ("/process/terminal", "1", "process.terminal", "1"),
        ("/process/user/uid", "-1", "process.user.uid", "-1"),
        (
            "/process/user/uid",
            "4294967296",
            "process.user.uid",
            "4294967296",
        ),
        ("/process/user/gid", "1.5", "process.user.gid", "1.5"),
        ("/process/user", "[]", "process.user", "a list of 0"),
        (
            "/process/rlimits/0",
            "{}",
            "process.rlimits[1].type",
            "missing",
        ),
        (
            "/process/rlimits/0",
            r#"{"type": "RLIMIT_X", "soft": 1, "hard": 1}"#,
            "process.rlimits[1].type",
            "\"RLIMIT_X\"",
        ),
        (
            "/process/capabilities/bounding",
            r#"["CAP_X"]"#,
            "process.capabilities.bounding[0]",
            "\"CAP_X\"",
        ),
        ("/ociVersion", "\"2.0.0\"", "ociVersion", "\"2.0.0\""),
        ("/process/colour", "\"red\"", "process.colour", "\"red\""),
        ("/process/a b", "1", "process[\"a b\"]", "1"),
    ];
    for (pointer, value, path, shown) in expectations {
        let refusal = refusal(pointer, value);
        assert_eq!(
            (refusal.path.as_str(), refusal.value.as_str()),
            (path, shown)
        );
    }
}

#[test]
fn a_variable_is_not_shown() {
    let refusal = refusal("/process/env", "[\"A=b\", {\"PASSWORD\": \"hunter2\"}, 7]");
    assert_eq!(refusal.path, "process.env[1]");
    assert_eq!(refusal.value, "a value that is not shown");
}

#[test]
fn what_a_guest_cannot_do_is_refused_with_a_remedy() {
    for (pointer, value) in [
        (
            "/process/ioPriority",
            r#"{"class": "IOPRIO_CLASS_RT", "priority": 1}"#,
        ),
        ("/process/scheduler", r#"{"policy": "SCHED_FIFO"}"#),
        ("/process/execCPUAffinity", r#"{"initial": "0-3"}"#),
        ("/process/commandLine", "\"cmd\""),
        ("/process/user/username", "\"ContainerAdministrator\""),
        (
            "/hooks",
            r#"{"createRuntime": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}"#,
        ),
        ("/windows", r#"{"layerFolders": ["C:"]}"#),
        ("/linux/personality", r#"{"domain": "LINUX32"}"#),
        ("/linux/intelRdt", r#"{"closID": "a"}"#),
        (
            "/linux/uidMappings",
            r#"[{"containerID": 0, "hostID": 100000, "size": 65536}]"#,
        ),
        ("/linux/timeOffsets", r#"{"monotonic": {"secs": 1}}"#),
    ] {
        let refusal = refusal(pointer, value);
        assert_eq!(refusal.path, pointer[1..].replace('/', "."));
        assert!(refusal.remedy.is_some(), "{pointer}");
    }
}
