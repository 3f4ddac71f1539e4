use std::path::PathBuf;

use anyhow::Context as _;
use msb_sdk::{Error, NewValue, SecretValue};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output::{self, Format};
use msb_terminal::secrets::{self, TypedSource};

// Arguments of `msb secret`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "--secret of msb run and msb create gives a sandbox a secret. Its programs have a placeholder; the \
    network of the sandbox replaces it in requests to the hosts of the secret, and the sandbox never has the value. \
    msb start reads the value from its source again.\n\n\
    Examples:\n  \
    msb run -d --name agent --secret GH_TOKEN@github.com,api.github.com debian sleep inf\n  \
    msb secret ls agent\n  \
    GH_TOKEN=new msb secret set agent GH_TOKEN\n  \
    msb secret rm agent GH_TOKEN"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the secrets of a sandbox, without their values
    #[command(visible_alias = "list")]
    Ls(ListArguments),
    /// Give a secret another value, also while the sandbox runs
    Set(SetArguments),
    /// Remove secrets from a sandbox, also while it runs
    #[command(alias = "remove")]
    Rm(RemoveArguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb secret ls agent\n  \
    msb secret ls --format json agent | jq -r '.[].placeholder'")]
struct ListArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandbox, by name or id
    sandbox: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "No option takes the value itself, because other users of this host can see a command's arguments, \
    and the shell's history keeps them.\n\n\
    Examples:\n  \
    GH_TOKEN=new msb secret set agent GH_TOKEN\n  \
    msb secret set agent GH_TOKEN --from 'cmd:gh auth token'\n  \
    pass show github | msb secret set agent GH_TOKEN --from -"
)]
struct SetArguments {
    /// Source of the value: env:NAME, file:PATH, cmd:COMMAND, or - for standard input [default: the present one]
    ///
    /// Later starts read env:, file: and cmd:, too. A value from standard input is kept until the sandbox stops.
    // Parsed later: a refused option would be printed, and may be a value.
    #[arg(long, value_name = "SOURCE")]
    from: Option<String>,
    /// Sandbox, by name or id
    sandbox: String,
    /// Name of the secret
    #[arg(value_name = "SECRET")]
    name: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Requests with the placeholder fail from now on.\n\nExamples:\n  msb secret rm agent GH_TOKEN"
)]
struct RemoveArguments {
    /// Sandbox, by name or id
    sandbox: String,
    /// Names of the secrets
    #[arg(required = true, value_name = "SECRET")]
    names: Vec<String>,
}

// Arguments of `msb __secrets`.
#[derive(Debug, clap::Args)]
pub(crate) struct RefreshArguments {
    /// Directory of the sandbox
    directory: PathBuf,
}

/// Reads the sources of a running sandbox's secrets again, until the sandbox stops.
pub(crate) fn refresh(arguments: &RefreshArguments) -> Outcome {
    msb_sandbox_secrets::refresh(&arguments.directory)
        .with_context(|| format!("sandbox {}", arguments.directory.display()))?;
    Ok(0)
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Ls(arguments) => list(context, arguments).await?,
        Command::Set(arguments) => set(context, arguments).await?,
        Command::Rm(arguments) => {
            let sandbox = context.handle(&arguments.sandbox).await?;
            for name in &arguments.names {
                sandbox.secrets().remove(name.as_str()).await?;
                output::print(&format!("{name}\n"))?;
            }
        }
    }
    Ok(0)
}

async fn list(context: &Context, arguments: &ListArguments) -> Result<(), Failure> {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let found = sandbox.secrets().list().await?;
    match arguments.format {
        Format::Json => output::print_json(&found)?,
        Format::Table => secrets::print(&found, context.quiet)?,
    }
    Ok(())
}

async fn set(context: &Context, arguments: &SetArguments) -> Result<(), Failure> {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let source = arguments.from.as_deref().map(str::parse).transpose();
    let new = match source.map_err(Error::from)? {
        None => NewValue::Recorded,
        Some(TypedSource::Source(source)) => NewValue::From(source),
        Some(TypedSource::StandardInput) => {
            let text = secrets::read(&context.interrupts, &arguments.name).await?;
            NewValue::Given(SecretValue::new(text).map_err(Error::from)?)
        }
    };
    sandbox
        .secrets()
        .set_with(arguments.name.as_str(), new)
        .await?;
    Ok(())
}
