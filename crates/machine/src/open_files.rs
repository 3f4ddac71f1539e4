//! The number of files that the VMM process may open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on open files to the user's maximum.
///
/// Each layer of the image uses two descriptors, so the usual limit of 1024 allows some 500 layers. libkrun
/// keeps every file of a shared directory open that the guest's kernel remembers.
pub(crate) fn raise_limit() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_reaches_its_maximum() {
        raise_limit().expect("raised");
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
