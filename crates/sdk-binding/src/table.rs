//! The dispatch table: operations by the object that they are called on and by name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;

use crate::failure::Failure;
use crate::object::Target;
use crate::operation::{Operation, OperationInfo, Running};
use crate::operations;

static TABLE: LazyLock<BTreeMap<(&str, &str), Operation>> = LazyLock::new(|| {
    let row = |operation: Operation| ((operation.info.on, operation.info.name), operation);
    operations::all().into_iter().map(row).collect()
});

impl OperationInfo {
    /// Returns the operations that exist, ordered by object and name.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.values().map(|operation| operation.info.clone())
    }
}

/// Begins the operation `name` of `target`.
///
/// # Errors
///
/// The object has no such operation, or its parameters are refused.
pub(crate) fn begin(
    target: Target,
    name: &str,
    parameters: &str,
    content: Vec<Bytes>,
) -> Result<Running, Failure> {
    let kind = target.kind();
    let operation = TABLE
        .get(&(kind, name))
        .ok_or_else(|| Failure::no_operation(kind, name))?;
    (operation.begin)(target, parameters, content)
}
