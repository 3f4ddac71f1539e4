use msb_sdk::UndoOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool, number};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// The most commands that a call takes back, as many as have snapshots.
const COUNT_MAX: u64 = 400;

/// The remedy of commands without a snapshot.
const HINT: &str = "a command can be taken back if sandbox_exec ran it with snapshot true";

/// Takes commands back.
pub(super) struct Undo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Number of commands; 1 if left out.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    count: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The commands that are taken back, the newest first.
    commands: Vec<String>,
    /// Snapshot of the files before the undo; a rollback to it takes the undo back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<String>,
}

impl SandboxTool for Undo {
    const NAME: &'static str = "sandbox_undo";
    const TITLE: &'static str = "Undo commands";
    const DESCRIPTION: &'static str = "Makes the files of a sandbox those before the last commands that sandbox_exec \
        ran with snapshot. Its processes are killed. The files before are kept as a snapshot.";
    const EFFECT: Effect = Effect::DESTROYS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let count = number("count", arguments.count, 1, COUNT_MAX)?;
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = UndoOptions::default();
        options.count = usize::try_from(count).unwrap_or(usize::MAX);
        options.start = session.settings.template.start.clone();
        let undone = call.awaited(sandbox.undo_with(options)).await;
        let undone = undone.map_err(|stop| stop.when_not_found(HINT))?;
        let commands = undone.commands.iter();
        Ok(Output {
            commands: commands.map(|command| words(&command.argv)).collect(),
            undo: undone.kept.map(|kept| kept.name),
        })
    }
}

/// Returns a command as it was given: what the shell ran, or its words.
fn words(argv: &[String]) -> String {
    match argv {
        [shell, option, command] if shell == "/bin/sh" && option == "-c" => command.clone(),
        argv => argv.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_the_shell_is_its_text() {
        let argv = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words(&argv(&["/bin/sh", "-c", "ls; pwd"])), "ls; pwd");
        assert_eq!(words(&argv(&["make", "-c", "all"])), "make -c all");
        assert_eq!(words(&[]), "");
    }
}
