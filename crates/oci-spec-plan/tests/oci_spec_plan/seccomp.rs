//! Profiles of system calls. The programs themselves are run in the unit tests of the compiler.

use container_plan::SeccompFilter;
use oci_spec_plan::{Architecture, Pod, plan_container};

use super::specification::{container, refusal, with};

fn filter(value: &str) -> SeccompFilter {
    let filter = container("/linux/seccomp", value).seccomp;
    filter.expect("there is a filter")
}

#[test]
fn flags_are_those_of_the_profile_or_of_runc() {
    let flags = |value: &str| {
        let filter = filter(value);
        (filter.is_logged, filter.allows_speculation)
    };
    assert_eq!(
        flags(r#"{"defaultAction": "SCMP_ACT_ALLOW"}"#),
        (false, true)
    );
    let value = r#"{"defaultAction": "SCMP_ACT_ALLOW", "flags": []}"#;
    assert_eq!(flags(value), (false, false));
    let value = r#"{"defaultAction": "SCMP_ACT_ALLOW",
        "flags": ["SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_TSYNC"]}"#;
    assert_eq!(flags(value), (true, false));
}

#[test]
fn a_profile_is_compiled_for_the_interfaces_of_the_guest() {
    let value = r#"{"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": [{"names": ["read", "cacheflush"], "action": "SCMP_ACT_ALLOW"}]}"#;
    let one = filter(value);
    let both = filter(&value.replace(
        "\"SCMP_ARCH_X86_64\"",
        "\"SCMP_ARCH_X86_64\", \"SCMP_ARCH_X86\"",
    ));
    assert!(both.program.len() > one.program.len());
    let arm = Pod {
        architecture: Architecture::Aarch64,
        ..Pod::default()
    };
    let plan = plan_container("demo", with("/linux/seccomp", value).as_bytes(), &arm);
    let arm = plan.expect("it is supported").container.seccomp;
    let second = |filter: &SeccompFilter| filter.instructions().nth(1).map(|one| one.k);
    assert_eq!(second(&one), Some(0xc000_003e));
    assert_eq!(arm.as_ref().and_then(second), Some(0xc000_00b7));
}

#[test]
fn conditions_on_one_argument_are_alternatives() {
    let rule = |arguments: &str| {
        let value = format!(
            r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{{"names": ["personality"],
                "action": "SCMP_ACT_ALLOW", "args": [{arguments}]}}]}}"#
        );
        let filter = filter(&value);
        let allows = filter.instructions().filter(|one| one.k == 0x7fff_0000);
        allows.count()
    };
    let condition =
        |index: u32| format!(r#"{{"index": {index}, "value": 1, "op": "SCMP_CMP_EQ"}}"#);
    assert_eq!(rule(&condition(0)), 1);
    assert_eq!(rule(&format!("{}, {}", condition(0), condition(1))), 1);
    assert_eq!(rule(&format!("{}, {}", condition(0), condition(0))), 2);
}

#[test]
fn a_profile_that_cannot_be_enforced_is_refused() {
    let rule =
        |rule: &str| format!(r#"{{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{rule}]}}"#);
    let argument = |argument: &str| {
        rule(&format!(
            r#"{{"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{argument}]}}"#
        ))
    };
    for (value, path) in [
        ("{\"syscalls\": []}".to_owned(), "defaultAction"),
        (
            r#"{"defaultAction": "SCMP_ACT_NOTIFY"}"#.to_owned(),
            "defaultAction",
        ),
        (r#"{"defaultAction": "ALLOW"}"#.to_owned(), "defaultAction"),
        (
            r#"{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 4096}"#.to_owned(),
            "defaultErrnoRet",
        ),
        (
            r#"{"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/run/l"}"#.to_owned(),
            "listenerPath",
        ),
        (
            r#"{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["x86_64"]}"#.to_owned(),
            "architectures[0]",
        ),
        (
            r#"{"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_NEW_LISTENER"]}"#
                .to_owned(),
            "flags[0]",
        ),
        (rule(r#"{"names": ["read"]}"#), "syscalls[0].action"),
        (
            rule(r#"{"names": ["read", "opem"], "action": "SCMP_ACT_KILL_PROCESS"}"#),
            "syscalls[0].names[1]",
        ),
        (
            argument(r#"{"index": 6, "op": "SCMP_CMP_EQ"}"#),
            "syscalls[0].args[0].index",
        ),
        (
            argument(r#"{"index": 0, "op": "EQ"}"#),
            "syscalls[0].args[0].op",
        ),
        (
            argument(r#"{"index": 0, "value": -1, "op": "SCMP_CMP_EQ"}"#),
            "syscalls[0].args[0].value",
        ),
    ] {
        let refusal = refusal("/linux/seccomp", &value);
        assert_eq!(refusal.path, format!("linux.seccomp.{path}"), "{value}");
    }
}
