//! The arguments of containerd, flags as Go's `flag` reads them: `-id ID`, `-id=ID`, with one dash or two.

use std::ffi::OsString;
use std::path::PathBuf;

use super::CommandError;

/// The command of a shim's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Action {
    /// Start a shim, or find that of the pod.
    Start,
    /// Serve the tasks of a shim.
    Serve,
    /// Remove what is left of a shim that has died.
    Delete,
    /// Describe the runtime.
    Info,
    /// Print the version.
    #[default]
    Version,
}

/// The arguments of a shim's program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arguments {
    pub(super) action: Action,
    pub(super) namespace: String,
    pub(super) id: String,
    /// The address of containerd's gRPC services.
    pub(super) address: String,
    /// The address of containerd's ttrpc services; only `serve` has it.
    pub(super) ttrpc_address: String,
    pub(super) bundle: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, CommandError> {
        let mut parsed = Self::default();
        let mut action = None;
        let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        while let Some(argument) = arguments.next() {
            let Some(flag) = argument.strip_prefix('-') else {
                action = Some(action_of(&argument)?);
                continue;
            };
            let flag = flag.strip_prefix('-').unwrap_or(flag);
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            match name {
                "debug" => continue,
                "v" | "version" => action = Some(Action::Version),
                "info" => action = Some(Action::Info),
                _ => {
                    let value = value.or_else(|| arguments.next());
                    let value = value.ok_or_else(|| CommandError::Argument(argument.clone()))?;
                    parsed.set(name, value)?;
                }
            }
        }
        parsed.action = action.ok_or(CommandError::Missing("start or delete"))?;
        parsed.check()?;
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), CommandError> {
        match name {
            "namespace" => self.namespace = value,
            "id" => self.id = value,
            "address" => self.address = value,
            "ttrpc-address" => self.ttrpc_address = value,
            "bundle" => self.bundle = Some(value.into()),
            // containerd's program, for publishing events without ttrpc.
            "publish-binary" => {}
            _ => return Err(CommandError::Argument(format!("-{name}"))),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), CommandError> {
        if matches!(self.action, Action::Info | Action::Version) {
            return Ok(());
        }
        for (name, value) in [("-namespace", &self.namespace), ("-id", &self.id)] {
            if value.is_empty() {
                return Err(CommandError::Missing(name));
            }
            // Both become parts of paths.
            if value.contains('/') || value == "." || value == ".." {
                return Err(CommandError::Id(value.clone()));
            }
        }
        Ok(())
    }
}

fn action_of(argument: &str) -> Result<Action, CommandError> {
    match argument {
        "start" => Ok(Action::Start),
        "serve" => Ok(Action::Serve),
        "delete" => Ok(Action::Delete),
        _ => Err(CommandError::Argument(argument.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let arguments = line.split_whitespace().map(OsString::from);
        Arguments::parse(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn the_arguments_of_containerd_are_read() {
        let line = "-namespace k8s.io -address /c.sock -publish-binary /bin/c -id a -bundle /b -debug delete";
        let found = parse(line).expect("it is valid");
        let expected = Arguments {
            action: Action::Delete,
            namespace: "k8s.io".into(),
            id: "a".into(),
            address: "/c.sock".into(),
            bundle: Some("/b".into()),
            ..Arguments::default()
        };
        assert_eq!(found, expected);
        assert_eq!(
            parse("--namespace=n --id=a start").map(|found| found.action),
            Ok(Action::Start)
        );
        assert_eq!(parse("-info").map(|found| found.action), Ok(Action::Info));
        assert_eq!(parse("-v").map(|found| found.action), Ok(Action::Version));
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        for (line, named) in [
            ("", "start or delete"),
            ("-namespace n start", "-id"),
            ("-id a -namespace", "-namespace"),
            ("-namespace n -id ../a start", "../a"),
            ("-namespace n -id a restart", "restart"),
            ("-wrong x start", "-wrong"),
        ] {
            let error = parse(line).expect_err("it is refused");
            assert!(error.contains(named), "{error}");
        }
    }
}
