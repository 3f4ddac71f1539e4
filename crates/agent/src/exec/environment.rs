use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use msb_agent_protocol::Bytes;

/// Splits `NAME=value` settings; a word without `=` or without a name is ignored.
pub(crate) fn parse(settings: &[Bytes]) -> Vec<(OsString, OsString)> {
    let split = |setting: &Bytes| {
        let equals = setting.iter().position(|&byte| byte == b'=')?;
        let valid = equals > 0 && !setting.contains(&0);
        let name = OsString::from_vec(setting[..equals].to_vec());
        let value = OsString::from_vec(setting[equals + 1..].to_vec());
        valid.then_some((name, value))
    };
    settings.iter().filter_map(split).collect()
}

/// Returns the last value that is set for `name`; `None` if the environment does not set it.
pub(crate) fn get<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = environment
        .iter()
        .rfind(|(key, _)| key.as_bytes() == name.as_bytes());
    found.map(|(_, value)| value.as_os_str())
}
