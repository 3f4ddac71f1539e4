//! Specifications for tests: those of `tests/fixtures`, and changes of one.

use container_plan::ContainerPlan;
use oci_spec_plan::{Note, Pod, Refusal, SpecError, SpecPlan, plan_container};
use serde_json::Value;

/// The specification of `ctr run`.
pub(crate) const CTR: &str = include_str!("../fixtures/ctr_run.json");

/// Plans a specification in a pod without another container.
pub(crate) fn plan(text: &str) -> Result<SpecPlan, SpecError> {
    plan_container("demo", text.as_bytes(), &Pod::default())
}

/// Returns the specification of `ctr run` with another value at a JSON pointer, whose last field may be new.
pub(crate) fn with(pointer: &str, value: &str) -> String {
    let mut config: Value = serde_json::from_str(CTR).expect("the fixture is JSON");
    let value = serde_json::from_str(value).expect("the test's value is JSON");
    let (parent, name) = pointer.rsplit_once('/').expect("it is a pointer");
    let parent = config.pointer_mut(parent).expect("the parent exists");
    match parent {
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value);
        }
        Value::Array(values) => values.push(value),
        _ => panic!("{pointer} is in no object or list"),
    }
    config.to_string()
}

/// Plans a changed specification of `ctr run`.
pub(crate) fn planned(pointer: &str, value: &str) -> SpecPlan {
    plan(&with(pointer, value)).expect("the value is supported")
}

/// Returns the guest's part of a changed specification of `ctr run`.
pub(crate) fn container(pointer: &str, value: &str) -> ContainerPlan {
    planned(pointer, value).container
}

/// Returns the refusal of a changed specification of `ctr run`.
pub(crate) fn refusal(pointer: &str, value: &str) -> Refusal {
    refused(plan(&with(pointer, value)))
}

/// Returns the refusal of a field.
pub(crate) fn refused(result: Result<SpecPlan, SpecError>) -> Refusal {
    match result {
        Err(SpecError::Refused(refusal)) => refusal,
        other => panic!("no field is refused: {other:?}"),
    }
}

/// Returns the paths of ignored fields.
pub(crate) fn paths(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.path.as_str()).collect()
}
