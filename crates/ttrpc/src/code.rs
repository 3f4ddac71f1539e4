use std::fmt;

/// The kind of an error, as gRPC numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// No error, number 0.
    Ok,
    /// The caller has cancelled the call, number 1.
    Cancelled,
    /// Another error, number 2.
    Unknown,
    /// A field cannot be used, number 3.
    InvalidArgument,
    /// The call took too long, number 4.
    DeadlineExceeded,
    /// The named object does not exist, number 5.
    NotFound,
    /// The object exists already, number 6.
    AlreadyExists,
    /// The caller lacks a right, number 7.
    PermissionDenied,
    /// A limit is reached, number 8.
    ResourceExhausted,
    /// The object is in another state, number 9.
    FailedPrecondition,
    /// Another call interfered, number 10.
    Aborted,
    /// A value is outside of its range, number 11.
    OutOfRange,
    /// The service does not have the method, number 12.
    Unimplemented,
    /// A defect, number 13.
    Internal,
    /// The service cannot be used now, number 14.
    Unavailable,
    /// Data is lost or damaged, number 15.
    DataLoss,
    /// The caller has not proved its identity, number 16.
    Unauthenticated,
}

/// The codes, by their numbers.
const CODES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    /// Returns the number of the code.
    #[must_use]
    pub fn number(self) -> i32 {
        let number = CODES.iter().position(|(code, _)| *code == self);
        number
            .and_then(|number| number.try_into().ok())
            .unwrap_or(2)
    }

    /// Returns the code of a number; [`Code::Unknown`] if there is no such code.
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        let row = usize::try_from(number).ok().and_then(|at| CODES.get(at));
        row.map_or(Self::Unknown, |(code, _)| *code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = CODES.iter().find(|(code, _)| code == self);
        formatter.write_str(row.map_or("UNKNOWN", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_of_grpc() {
        assert_eq!(Code::NotFound.number(), 5);
        assert_eq!(Code::Unauthenticated.number(), 16);
        for number in 0..17 {
            assert_eq!(Code::from_number(number).number(), number);
        }
        assert_eq!(Code::from_number(17), Code::Unknown);
        assert_eq!(Code::from_number(-1), Code::Unknown);
    }
}
