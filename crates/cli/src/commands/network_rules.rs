use msb_sdk::{Network, NetworkChange, NetworkPolicy};

use super::Context;
use super::network::Mode;
use msb_terminal::failure::{Failure, Outcome, printable};
use msb_terminal::output::{self, Format};

// Arguments of `msb network`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "--network, --net-allow and --net-deny of msb run and msb create give a sandbox its rules. These \
    commands change them: they are kept with the sandbox, and if it is running, new connections and DNS queries \
    follow them at once.\n\n\
    Examples:\n  \
    msb network allow agent '*.pypi.org' files.pythonhosted.org:443\n  \
    msb network deny --close agent telemetry.example.com\n  \
    msb network show agent"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Allow destinations, also while the sandbox runs
    Allow(ChangeArguments),
    /// Deny destinations, also while the sandbox runs
    Deny(ChangeArguments),
    /// Remove rules, also while the sandbox runs
    #[command(alias = "remove")]
    Rm(ChangeArguments),
    /// Replace the mode and all rules at once
    Set(SetArguments),
    /// Show the rules of a sandbox
    Show(ShowArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A rule is an address or a name, as of --net-allow and --net-deny of msb run. msb network allow removes \
    an equal rule that denies, and msb network deny one that allows; a rule that denies takes precedence. A rule for \
    requests, https://HOST/PATH*:METHODS, can be changed only for hosts whose TLS is ended since the sandbox was \
    created.\n\n\
    Examples:\n  \
    msb network allow agent api.example.com:443 10.0.0.5:5432\n  \
    msb network deny --close agent 10.0.0.0/8\n  \
    msb network rm agent 10.0.0.0/8"
)]
struct ChangeArguments {
    /// End open connections that the rules deny now
    #[arg(long)]
    close: bool,
    /// Sandbox, by name or id
    sandbox: String,
    /// Rules
    #[arg(required = true, value_name = "RULE")]
    rules: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Rules that are not given again are removed.\n\nExamples:\n  \
    msb network set agent listed --net-allow api.example.com:443\n  \
    msb network set --close agent listed"
)]
struct SetArguments {
    /// End open connections that the rules deny now
    #[arg(long)]
    close: bool,
    /// Allow an address or name
    #[arg(long, value_name = "RULE")]
    net_allow: Vec<String>,
    /// Deny an address or name
    #[arg(long, value_name = "RULE")]
    net_deny: Vec<String>,
    /// Sandbox, by name or id
    sandbox: String,
    /// Allowed destinations
    #[arg(value_enum)]
    mode: Mode,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb network show agent\n  \
    msb network show --format json agent | jq -r '.allow[]'")]
struct ShowArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandbox, by name or id
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Allow(arguments) => change(context, arguments, NetworkChange::Allow).await?,
        Command::Deny(arguments) => change(context, arguments, NetworkChange::Deny).await?,
        Command::Rm(arguments) => change(context, arguments, NetworkChange::Remove).await?,
        Command::Set(arguments) => set(context, arguments).await?,
        Command::Show(arguments) => show(context, arguments).await?,
    }
    Ok(0)
}

async fn change(
    context: &Context,
    arguments: &ChangeArguments,
    change: fn(Vec<String>) -> NetworkChange,
) -> Result<(), Failure> {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let change = change(arguments.rules.clone());
    sandbox.network().change(change, arguments.close).await?;
    Ok(())
}

async fn set(context: &Context, arguments: &SetArguments) -> Result<(), Failure> {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let mut network = match arguments.mode {
        Mode::Outbound => Network::outbound(),
        Mode::Listed => Network::listed(),
        Mode::None => Network::none(),
    };
    network.allow.clone_from(&arguments.net_allow);
    network.deny.clone_from(&arguments.net_deny);
    sandbox.network().set_with(network, arguments.close).await?;
    Ok(())
}

async fn show(context: &Context, arguments: &ShowArguments) -> Result<(), Failure> {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let policy = sandbox.network().show().await?;
    match arguments.format {
        Format::Json => output::print_json(&policy)?,
        Format::Table => output::print(&lines(&policy))?,
    }
    Ok(())
}

/// Returns the rules, one on each line.
fn lines(policy: &NetworkPolicy) -> String {
    let mut text = format!("mode {}\n", policy.mode);
    for (word, rules) in [
        ("allow", &policy.allow),
        ("deny", &policy.deny),
        ("secret", &policy.secret_hosts),
    ] {
        for rule in rules {
            text.push_str(&format!("{word} {}\n", printable(rule)));
        }
    }
    if policy.ask {
        text.push_str("ask\n");
    }
    text
}
