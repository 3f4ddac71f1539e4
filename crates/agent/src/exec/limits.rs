use msb_agent_protocol::ULIMIT_NAMES;
use msb_agent_protocol::v1::{Failure, Ulimit};
use rustix::process::{Resource, Rlimit};

use super::failure::bad_request;
use crate::guarded_file::read_regular;

/// The file that holds the largest limit of open files.
const OPEN_FILES_MAX_PATH: &str = "/proc/sys/fs/nr_open";
/// The longest text of that limit, in bytes.
const NUMBER_MAX_BYTES: u64 = 32;

/// Returns the resource limits that the host asks for.
pub(super) fn read(ulimits: &[Ulimit]) -> Result<Vec<(Resource, Rlimit)>, Failure> {
    ulimits.iter().map(limit).collect()
}

fn limit(ulimit: &Ulimit) -> Result<(Resource, Rlimit), Failure> {
    let name = &ulimit.name;
    let resource = resource(name).ok_or_else(|| {
        bad_request(&format!(
            "'{}' is not the name of a ulimit",
            name.escape_default()
        ))
    })?;
    let open_files_max = (resource == Resource::Nofile).then(open_files_max);
    if let Some(most) = open_files_max.flatten()
        && ulimit.hard.is_none_or(|hard| hard > most)
    {
        return Err(bad_request(&format!(
            "ulimit nofile is too high: the guest's kernel allows {most} open files"
        )));
    }
    let rlimit = Rlimit {
        current: ulimit.soft,
        maximum: ulimit.hard,
    };
    Ok((resource, rlimit))
}

fn open_files_max() -> Option<u64> {
    let text = read_regular(OPEN_FILES_MAX_PATH, NUMBER_MAX_BYTES).ok()?;
    str::from_utf8(&text).ok()?.trim_end().parse().ok()
}

/// Returns the resource of a name that the protocol has; guests of other versions know no further ones.
fn resource(name: &str) -> Option<Resource> {
    let is_known = ULIMIT_NAMES.contains(&name);
    is_known.then(|| guest_container::resource(name)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulimit(name: &str, soft: Option<u64>, hard: Option<u64>) -> Ulimit {
        Ulimit {
            name: name.to_owned(),
            soft,
            hard,
        }
    }

    #[test]
    fn every_name_is_a_resource_and_no_other() {
        assert!(ULIMIT_NAMES.iter().all(|name| resource(name).is_some()));
        assert!(read(&[ulimit("as", None, None)]).is_err());
    }

    #[test]
    fn limits_are_taken_as_they_are_unless_the_kernel_would_refuse() {
        let limits = read(&[ulimit("core", Some(0), None)]).expect("a limit");
        let expected = Rlimit {
            current: Some(0),
            maximum: None,
        };
        assert_eq!(limits, [(Resource::Core, expected)]);
        assert!(read(&[ulimit("nofile", Some(1), Some(1024))]).is_ok());
        assert!(read(&[ulimit("nofile", Some(1), None)]).is_err());
        assert!(read(&[ulimit("nofile", Some(1), Some(u64::MAX - 1))]).is_err());
    }
}
