//! The settings of the guest, from the kernel's command line.
//!
//! The kernel passes words that it does not know to its first process as environment.

use std::ffi::OsString;
use std::sync::{LazyLock, OnceLock};

use msb_sandbox_model::{GuestSettings, InvalidGuestWord};

use super::BootError;

/// The word on the kernel's command line that holds the settings; it is missing if all are defaults.
const SETTINGS_VARIABLE: &str = "msb_guest";
/// The word that holds the sandbox's name.
const NAME_VARIABLE: &str = "msb_name";
const DEFAULT_NAME: &str = "msb";

static SETTINGS: OnceLock<GuestSettings> = OnceLock::new();
static DEFAULTS: LazyLock<GuestSettings> = LazyLock::new(GuestSettings::default);

/// Reads the settings. They may be used once this has returned.
///
/// # Errors
/// If a setting is unknown or invalid: a guest without it might have too many rights.
pub(super) fn read() -> Result<(), BootError> {
    let settings = parse(std::env::var_os(SETTINGS_VARIABLE))?;
    // They are read once, at the beginning of the boot.
    let _ = SETTINGS.set(settings);
    Ok(())
}

/// Returns the settings; the defaults before they were read.
pub(super) fn current() -> &'static GuestSettings {
    SETTINGS.get().unwrap_or(&DEFAULTS)
}

/// Returns the name of the sandbox.
pub(super) fn sandbox_name() -> String {
    std::env::var(NAME_VARIABLE).unwrap_or_else(|_| DEFAULT_NAME.to_owned())
}

fn parse(word: Option<OsString>) -> Result<GuestSettings, BootError> {
    let Some(word) = word else {
        return Ok(GuestSettings::default());
    };
    let word = word.into_string();
    let word = word.map_err(|_| BootError::Settings(InvalidGuestWord::Encoding))?;
    GuestSettings::from_kernel_word(&word).map_err(BootError::Settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_word_is_read() {
        let read = |word: &str| parse(Some(word.into()));
        let settings = read("{'read_only':true}").expect("read");
        assert!(settings.read_only && settings.hostname.is_none());
        assert_eq!(parse(None).expect("none"), GuestSettings::default());
        for word in ["", "{'read_only':1}", "{'firewall':true}"] {
            let error = read(word).expect_err(word);
            assert!(matches!(error, BootError::Settings(_)), "{error}");
        }
    }
}
