use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::limits::PLAN_MAX_BYTES;

/// The error for a plan that a guest would not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The bytes are not an encoded plan.
    #[error("cannot decode the plan of the container")]
    Decode(#[from] prost::DecodeError),
    /// The encoded plan is too long.
    #[error("the plan of the container has {bytes} bytes, the limit is {PLAN_MAX_BYTES}")]
    TooLong {
        /// The length, in bytes.
        bytes: usize,
    },
    /// A list has too many entries.
    #[error("{field} has {count} entries, the limit is {limit}")]
    TooMany {
        /// The name of the list, such as `mounts`.
        field: &'static str,
        /// The number of its entries.
        count: usize,
        /// The most entries of the list.
        limit: usize,
    },
    /// A value is not accepted.
    #[error("{field} is {value}, accepted is {accepted}")]
    Value {
        /// The name of the field, such as `process.cwd`.
        field: &'static str,
        /// The value, quoted and shortened.
        value: String,
        /// The description of the accepted values.
        accepted: &'static str,
    },
}

impl Diagnose for PlanError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument)
    }
}
