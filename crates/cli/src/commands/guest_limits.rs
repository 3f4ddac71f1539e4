use std::num::NonZeroU32;

use msb_sdk::{SandboxOptions, Size};

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
    /// Puts the limits into the options of a sandbox.
    pub(crate) fn set(&self, options: &mut SandboxOptions) {
        options.pids = self.pids_limit.map(NonZeroU32::get);
        options.shm = self.shm_size.map(Size::new);
        options.tmp = self.tmp_size.map(Size::new);
    }
}

/// Parses the size of a tmpfs. A size of 0 is refused, because for a tmpfs it means no limit.
fn some_size(text: &str) -> Result<u64, String> {
    match output::parse_size(text)? {
        0 => Err(format!("'{text}' is too small: the minimum is 1 byte")),
        bytes => Ok(bytes),
    }
}
