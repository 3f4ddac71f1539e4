//! The checks of a plan: the bounds of its lists, and the form of its values.

mod filesystem;
mod process;

use crate::limits::{
    CONTROL_MAX_BYTES, CONTROLS_MAX, DEVICE_RULES_MAX, DEVICES_MAX, FILTER_INSTRUCTIONS_MAX,
    HOST_NAME_MAX_BYTES, ID_MAX_BYTES, MOUNTS_MAX, PATH_MAX_BYTES, PATHS_MAX, SYSCTL_MAX_BYTES,
    SYSCTLS_MAX,
};
use crate::{
    Cgroup, ContainerPlan, DeviceKind, NamespaceScope, Namespaces, PlanError, Propagation,
    SeccompFilter, Sysctl, is_control_file,
};

/// The most characters of a refused value in an error.
const SHOWN_MAX_CHARS: usize = 200;

impl ContainerPlan {
    /// Checks all values of the plan and of its parts.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        check_value(
            "id",
            &self.id,
            "1 to 128 of the characters a-z A-Z 0-9 - _ .",
            is_id,
        )?;
        self.process.check()?;
        if Propagation::try_from(self.root_propagation).is_err() {
            let accepted = "a propagation without sharing";
            return Err(refused("root_propagation", self.root_propagation, accepted));
        }
        check_host_name("hostname", &self.hostname)?;
        check_host_name("domainname", &self.domainname)?;
        check_count("mounts", self.mounts.len(), MOUNTS_MAX)?;
        check_count("devices", self.devices.len(), DEVICES_MAX)?;
        self.mounts.iter().try_for_each(|mount| mount.check())?;
        self.devices.iter().try_for_each(|device| device.check())?;
        check_paths("masked_paths", &self.masked_paths)?;
        check_paths("readonly_paths", &self.readonly_paths)?;
        check_count("sysctls", self.sysctls.len(), SYSCTLS_MAX)?;
        self.sysctls.iter().try_for_each(Sysctl::check)?;
        self.namespaces.check()?;
        self.cgroup.check()?;
        self.seccomp.as_ref().map_or(Ok(()), SeccompFilter::check)
    }
}

impl Sysctl {
    fn check(&self) -> Result<(), PlanError> {
        let accepted = "a name with dots, of the characters a-z A-Z 0-9 - _ and /";
        check_value("sysctls.name", &self.name, accepted, |name| {
            (1..=PATH_MAX_BYTES).contains(&name.len()) && name.split('.').all(is_parameter_part)
        })?;
        let accepted = "at most 4,095 bytes without NUL";
        check_value("sysctls.value", &self.value, accepted, |value| {
            value.len() <= SYSCTL_MAX_BYTES && !value.contains('\0')
        })
    }
}

impl Namespaces {
    fn check(self) -> Result<(), PlanError> {
        let scopes = [
            ("namespaces.pid", self.pid),
            ("namespaces.ipc", self.ipc),
            ("namespaces.uts", self.uts),
        ];
        for (field, scope) in scopes {
            if NamespaceScope::try_from(scope).is_err() {
                return Err(refused(field, scope, "the container's or the pod's"));
            }
        }
        Ok(())
    }
}

impl Cgroup {
    /// Checks the values and the rules of a control group.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        check_count("cgroup.controls", self.controls.len(), CONTROLS_MAX)?;
        for control in &self.controls {
            let accepted = "a limit of cgroup v2, such as memory.max";
            check_value(
                "cgroup.controls.file",
                &control.file,
                accepted,
                is_control_file,
            )?;
            let accepted = "one line of 1 to 4,095 printable characters";
            check_value("cgroup.controls.value", &control.value, accepted, |value| {
                (1..=CONTROL_MAX_BYTES).contains(&value.len())
                    && value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
            })?;
        }
        let field = "cgroup.device_rules";
        check_count(field, self.device_rules.len(), DEVICE_RULES_MAX)?;
        for rule in &self.device_rules {
            if DeviceKind::try_from(rule.kind).is_err() {
                return Err(refused(
                    "cgroup.device_rules.kind",
                    rule.kind,
                    "a kind of device",
                ));
            }
            let accepted = "each of the letters r, w and m at most once";
            check_value(
                "cgroup.device_rules.access",
                &rule.access,
                accepted,
                is_access,
            )?;
        }
        Ok(())
    }
}

impl SeccompFilter {
    fn check(&self) -> Result<(), PlanError> {
        let field = "seccomp.program";
        match self.length() {
            Some(length @ 1..) => check_count(field, length, FILTER_INSTRUCTIONS_MAX),
            _ => Err(refused(
                field,
                self.program.len(),
                "a number of bytes above 0 that is a multiple of 8",
            )),
        }
    }
}

/// Checks the number of a list's entries.
fn check_count(field: &'static str, count: usize, limit: usize) -> Result<(), PlanError> {
    if count <= limit {
        Ok(())
    } else {
        Err(PlanError::TooMany {
            field,
            count,
            limit,
        })
    }
}

/// Checks the form of a text.
fn check_value(
    field: &'static str,
    value: &str,
    accepted: &'static str,
    is_accepted: impl FnOnce(&str) -> bool,
) -> Result<(), PlanError> {
    if is_accepted(value) {
        Ok(())
    } else {
        Err(PlanError::Value {
            field,
            value: quoted(value),
            accepted,
        })
    }
}

fn check_paths(field: &'static str, paths: &[String]) -> Result<(), PlanError> {
    check_count(field, paths.len(), PATHS_MAX)?;
    paths
        .iter()
        .try_for_each(|path| check_absolute(field, path))
}

/// Checks an absolute path, which is resolved below a container's root.
fn check_absolute(field: &'static str, path: &str) -> Result<(), PlanError> {
    let accepted = "an absolute path of at most 4,095 bytes without \"..\" and NUL";
    check_value(field, path, accepted, |path| {
        path.starts_with('/') && is_path(path)
    })
}

fn check_host_name(field: &'static str, name: &str) -> Result<(), PlanError> {
    let accepted = "at most 64 bytes without NUL";
    check_value(field, name, accepted, |name| {
        name.len() <= HOST_NAME_MAX_BYTES && !name.contains('\0')
    })
}

/// Returns the error for a number.
fn refused(
    field: &'static str,
    value: impl std::fmt::Display,
    accepted: &'static str,
) -> PlanError {
    PlanError::Value {
        field,
        value: value.to_string(),
        accepted,
    }
}

/// Returns a text as an error shows it.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

fn is_path(path: &str) -> bool {
    path.len() <= PATH_MAX_BYTES && !path.contains('\0') && path.split('/').all(|part| part != "..")
}

/// Returns true for the name of a container, a share's entry or a disk: one part of a path, and not a hidden one.
fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=ID_MAX_BYTES).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(is_allowed)
}

/// Returns true for a part of a kernel parameter's name. A `/` stands for a dot in the name of a network interface.
fn is_parameter_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
    !part.is_empty() && part.bytes().all(is_allowed) && part.bytes().any(|byte| byte != b'/')
}

fn is_access(text: &str) -> bool {
    let count = |letter: u8| text.bytes().filter(|byte| *byte == letter).count();
    text.bytes().all(|byte| b"rwm".contains(&byte))
        && !text.is_empty()
        && b"rwm".iter().all(|letter| count(*letter) <= 1)
}
