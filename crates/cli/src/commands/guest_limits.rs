use std::num::NonZeroU32;

use msb_runtime::Limits;

use crate::output;

// The limits of a guest.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestLimitArguments {
    /// Limit on all processes and threads [default: the kernel's]
    #[arg(long, value_name = "COUNT")]
    pids_limit: Option<NonZeroU32>,
    /// Size of /dev/shm [default: half of the memory]
    #[arg(long, value_name = "SIZE", value_parser = some_size)]
    shm_size: Option<u64>,
    /// Size of /tmp, in memory [default: half of the memory]
    #[arg(long, value_name = "SIZE", value_parser = some_size)]
    tmp_size: Option<u64>,
}

impl GuestLimitArguments {
    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            pids: self.pids_limit,
            shm_bytes: self.shm_size,
            tmp_bytes: self.tmp_size,
        }
    }
}

/// Parses the size of a tmpfs. A size of 0 is refused, because for a tmpfs it means no limit.
fn some_size(text: &str) -> Result<u64, String> {
    match output::parse_size(text)? {
        0 => Err(format!("'{text}' is too small: the minimum is 1 byte")),
        bytes => Ok(bytes),
    }
}
