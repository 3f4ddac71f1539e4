//! Any JSON, and damaged specifications: a plan or an error.

use oci_spec_plan::{Pod, plan_container, plan_process, plan_resources};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::specification::CTR;

/// Names of fields, so that values of any kind arrive where others are read.
const NAMES: [&str; 30] = [
    "ociVersion",
    "process",
    "root",
    "hostname",
    "mounts",
    "linux",
    "hooks",
    "user",
    "args",
    "env",
    "cwd",
    "capabilities",
    "bounding",
    "rlimits",
    "type",
    "soft",
    "hard",
    "destination",
    "source",
    "options",
    "namespaces",
    "path",
    "resources",
    "memory",
    "limit",
    "devices",
    "seccomp",
    "defaultAction",
    "syscalls",
    "names",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "1.0",
            "tmpfs",
            "bind",
            "mount",
            "network",
            "SCMP_ACT_ERRNO",
            "read"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let name = prop_oneof![
            prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
            ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..8)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Puts a value at the place of the `index`-th one of a tree, counted in its order.
fn replace(tree: &mut Value, index: &mut usize, value: &Value) {
    if *index == 0 {
        tree.clone_from(value);
    }
    *index = index.wrapping_sub(1);
    match tree {
        Value::Array(values) => {
            for inner in values {
                replace(inner, index, value);
            }
        }
        Value::Object(fields) => {
            for inner in fields.values_mut() {
                replace(inner, index, value);
            }
        }
        _ => {}
    }
}

fn plan_all(text: &[u8]) {
    let _ = plan_container("demo", text, &Pod::default());
    let _ = plan_process(text);
    let _ = plan_resources(text);
}

proptest! {
    #[test]
    fn any_json_is_planned_or_refused(value in json()) {
        plan_all(value.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(plan_container("demo", &bytes, &Pod::default()).is_err());
    }

    #[test]
    fn a_specification_with_another_value_is_planned_or_refused(value in json(), index in 0_usize..160) {
        let mut config: Value = serde_json::from_str(CTR).expect("the fixture is JSON");
        let mut rest = index;
        replace(&mut config, &mut rest, &value);
        plan_all(config.to_string().as_bytes());
    }
}

#[test]
fn a_profile_of_many_names_ends_soon() {
    let names = vec!["\"read\""; 100_000].join(", ");
    let text = CTR.replacen(
        "\"resources\":",
        &format!(
            r#""seccomp": {{"defaultAction": "SCMP_ACT_ERRNO", "syscalls":
                [{{"names": [{names}], "action": "SCMP_ACT_ALLOW"}}]}}, "resources":"#
        ),
        1,
    );
    let error = plan_container("demo", text.as_bytes(), &Pod::default());
    let error = error.expect_err("a profile is bounded");
    assert!(
        error.to_string().contains("at most 16,384 rules"),
        "{error}"
    );
}
