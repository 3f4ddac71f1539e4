use msb_vmm::RunError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on open files to the user's maximum.
///
/// Each extent of a VMDK uses a descriptor, so the usual limit of 1024 allows about as many layers.
pub(crate) fn raise_open_files() -> Result<(), RunError> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .map_err(|error| RunError::Io {
        action: "raise the limit on open files to its maximum".to_owned(),
        source: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_reaches_its_maximum() {
        raise_open_files().unwrap();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
