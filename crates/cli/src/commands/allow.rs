use std::convert::Infallible;
use std::str::FromStr;

use msb_sdk::RuleState;

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb allow`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Changes the rule of a path in a directory of this host that the sandbox has. In a shared \
    directory (-v DIR:PATH) that was given rules, the rule holds from the next access on.\n\n\
    In a staged directory (-v DIR:PATH:staged), if the sandbox runs and \
    the path becomes readable, the files that this host has there now are copied into the sandbox and \
    printed. They are not changes of the sandbox. Files that the sandbox made itself are not \
    replaced. A stopped sandbox gets the files with msb restage. A path that becomes hidden stays in a \
    sandbox that has it, but what the sandbox changes there is no longer applied.\n\n\
    The states are allow, write-ask, read-only, ask, deny and hide.\n\n\
    Examples:\n  \
    msb allow agent /work/.env\n  \
    msb allow agent secrets/ci=read-only"
)]
pub(crate) struct Arguments {
    /// Name or id of the sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
    /// Path in the sandbox, or relative to its only staged or shared directory, and its state [default: allow]
    #[arg(value_name = "PATH[=STATE]")]
    path: PathState,
}

/// A path and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathState {
    path: String,
    state: RuleState,
}

impl FromStr for PathState {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let split = text.rsplit_once('=');
        // The name of a file may have the sign, too.
        let parsed = split.and_then(|(path, state)| Some((path, state.parse().ok()?)));
        let (path, state) = parsed.unwrap_or((text, RuleState::Allow));
        Ok(Self {
            path: path.to_owned(),
            state,
        })
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.name).await?;
    let PathState { path, state } = &arguments.path;
    let allowed = sandbox.allow(path.as_str(), *state).await?;
    for path in &allowed.present {
        output::notice(&format!(
            "{} is a file of the sandbox, and stays as it is",
            path.quoted()
        ));
    }
    let lines = allowed
        .let_in
        .iter()
        .map(|path| format!("{}\n", path.quoted()));
    output::print(&lines.collect::<String>())?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_word_after_the_last_sign() {
        for (text, path, state) in [
            ("/work/.env", "/work/.env", RuleState::Allow),
            (".env=read-only", ".env", RuleState::ReadOnly),
            ("a=b=hide", "a=b", RuleState::Hide),
            ("a=b", "a=b", RuleState::Allow),
        ] {
            let Ok(parsed) = text.parse::<PathState>();
            assert_eq!((parsed.path.as_str(), parsed.state), (path, state));
        }
    }
}
