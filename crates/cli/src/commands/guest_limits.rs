use std::num::NonZeroU32;

use msb_sdk::{GuestSettings, Size, Sysctl, SysctlError, Sysctls};

// The limits of a guest.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestLimitArguments {
    /// Limit on processes and threads [default: the kernel's, as with -1]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = pids)]
    pids_limit: Option<u32>,
    /// Size of /dev/shm [default: half of the memory]
    #[arg(long, value_name = "SIZE", value_parser = some_size)]
    shm_size: Option<Size>,
    /// Size of /tmp in memory; without it /tmp is on the writable disk
    #[arg(long, value_name = "SIZE", value_parser = some_size)]
    tmp_size: Option<Size>,
    /// Setting of the guest's kernel, such as net.core.somaxconn=1024
    ///
    /// It is set at each start, which fails if the kernel does not have the setting.
    #[arg(long, value_name = "NAME=VALUE")]
    sysctl: Vec<Sysctl>,
}

impl GuestLimitArguments {
    /// Puts the limits into the settings of a guest.
    ///
    /// # Errors
    /// If the settings of the kernel are too long together.
    pub(crate) fn set(&self, guest: &mut GuestSettings) -> Result<(), SysctlError> {
        guest.pids = self.pids_limit.and_then(NonZeroU32::new);
        guest.shm = self.shm_size;
        guest.tmp = self.tmp_size;
        guest.sysctls = Sysctls::new(self.sysctl.iter().cloned())?;
        Ok(())
    }
}

/// Parses a limit on processes; 0 for none, which docker also writes as -1.
fn pids(text: &str) -> Result<u32, String> {
    if text == "-1" {
        return Ok(0);
    }
    let invalid =
        |_| format!("'{text}' is not a number of processes: write one such as 100, or -1");
    text.parse().map_err(invalid)
}

/// Parses the size of a tmpfs. A size of 0 is refused, because for a tmpfs it means no limit.
fn some_size(text: &str) -> Result<Size, String> {
    let size: Result<Size, _> = text.parse();
    match size.map_err(|error| error.to_string())? {
        size if size == Size::new(0) => {
            Err(format!("'{text}' is too small: the minimum is 1 byte"))
        }
        size => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_on_processes_is_written_as_docker_writes_it() {
        for (text, expected) in [
            ("100", Some(100)),
            ("0", Some(0)),
            ("-1", Some(0)),
            ("-2", None),
            ("many", None),
        ] {
            assert_eq!(pids(text).ok(), expected, "{text}");
        }
    }
}
