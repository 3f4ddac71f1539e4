//! Conditions on sandboxes, as `--filter` takes them.

use std::str::FromStr;

use msb_sdk::{NamePattern, SandboxCondition, SandboxFilter, SandboxState};

use crate::option_values::Label;

/// A condition on the listed sandboxes, as `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(SandboxCondition);

impl Filter {
    /// Returns true if the condition is on the state or the exit code of a sandbox.
    pub const fn is_of_state(&self) -> bool {
        matches!(
            self.0,
            SandboxCondition::State(_) | SandboxCondition::ExitCode(_)
        )
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(Self(match key {
            "id" => SandboxCondition::Id(value.to_owned()),
            "name" => {
                let pattern: NamePattern = value
                    .parse()
                    .map_err(|error: msb_sdk::Error| error.to_string())?;
                SandboxCondition::NameMatches(pattern)
            }
            "label" => {
                let label: Label = value.parse()?;
                SandboxCondition::Label(label.key, label.value)
            }
            "image" | "ancestor" => SandboxCondition::Image(value.to_owned()),
            "exited" => SandboxCondition::ExitCode(value.parse().map_err(|_| {
                format!("'{value}' is not an exit code: write a number from 0 to 255")
            })?),
            "status" => SandboxCondition::State(match value {
                "created" => Some(SandboxState::Created),
                "running" => Some(SandboxState::Running),
                "paused" => Some(SandboxState::Paused),
                "stopped" | "exited" => Some(SandboxState::Stopped),
                "unreadable" => Some(SandboxState::Unreadable),
                // States of docker's that a sandbox is never in.
                "restarting" | "removing" | "dead" => None,
                _ => {
                    return Err(format!(
                        "'{value}' is not a status: write created, running, paused, stopped or \
                         unreadable"
                    ));
                }
            }),
            _ => {
                return Err(format!(
                    "'{key}' is not a filter: write id, name, status, exited, label or image"
                ));
            }
        }))
    }
}

/// Returns the SDK's filter of these conditions.
pub fn filter(filters: &[Filter]) -> SandboxFilter {
    let conditions = filters.iter().map(|filter| filter.0.clone());
    conditions.fold(SandboxFilter::all(), SandboxFilter::condition)
}
