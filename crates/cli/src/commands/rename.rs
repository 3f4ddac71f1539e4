use super::Context;
use msb_terminal::failure::Outcome;

// Arguments of `msb rename`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The name is the guest's host name, so a running sandbox must be stopped first.\n\n\
    Examples:\n  \
    msb rename work old-work"
)]
pub(crate) struct Arguments {
    /// Sandbox, by name or id
    sandbox: String,
    /// New name of the sandbox
    name: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.sandbox).await?;
    sandbox.rename(arguments.name.as_str()).await?;
    Ok(0)
}
