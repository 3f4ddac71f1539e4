use super::Context;
use crate::failure::Outcome;
use crate::output;

/// Arguments of `msb rm`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Names or ids of stopped sandboxes
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    for name in &arguments.sandboxes {
        context.sandbox(name)?.remove()?;
        output::print(&format!("{name}\n"))?;
    }
    Ok(0)
}
