use std::io;

use rustix::io::Errno;

/// The outcome of a request, with the protocol's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The request is done.
    Ok,
    /// The file or the directory has no more content.
    Eof,
    /// The file does not exist.
    NoSuchFile,
    /// The process may not do it.
    PermissionDenied,
    /// Any other failure.
    Failure,
    /// The request is not valid.
    BadMessage,
    /// The server does not know the request.
    Unsupported,
}

/// The codes, in the order of the protocol. Codes 6 and 7 are the clients' own.
const CODES: [(Status, u32, &str); 7] = [
    (Status::Ok, 0, "Success"),
    (Status::Eof, 1, "End of file"),
    (Status::NoSuchFile, 2, "No such file"),
    (Status::PermissionDenied, 3, "Permission denied"),
    (Status::Failure, 4, "Failure"),
    (Status::BadMessage, 5, "Bad message"),
    (Status::Unsupported, 8, "Operation unsupported"),
];

impl Status {
    pub(crate) fn code(self) -> u32 {
        self.row().1
    }

    pub(crate) fn text(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, u32, &'static str) {
        let mut rows = CODES.iter();
        let row = rows.find(|(status, ..)| *status == self);
        row.expect("the table has every status")
    }

    /// Returns the status with a code. A code that the server never sends is a failure.
    pub(crate) fn of_code(code: u32) -> Self {
        let mut rows = CODES.iter();
        let row = rows.find(|(_, other, _)| *other == code);
        row.map_or(Self::Failure, |(status, ..)| *status)
    }
}

/// Returns the status that OpenSSH's server answers for an error.
impl From<Errno> for Status {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::BADF | Errno::LOOP => Self::NoSuchFile,
            Errno::PERM | Errno::ACCESS | Errno::FAULT => Self::PermissionDenied,
            Errno::NAMETOOLONG | Errno::INVAL => Self::BadMessage,
            Errno::NOSYS => Self::Unsupported,
            _ => Self::Failure,
        }
    }
}

impl From<io::Error> for Status {
    fn from(error: io::Error) -> Self {
        // An error of the standard library without a number is that of a path with a NUL byte.
        Errno::from_io_error(&error).map_or(Self::BadMessage, Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_that_of_its_status() {
        for (status, code, _) in CODES {
            assert_eq!(status.code(), code);
            assert_eq!(Status::of_code(code), status);
        }
        assert_eq!(Status::of_code(77), Status::Failure);
    }
}
