use super::{Context, exec};
use msb_terminal::failure::Outcome;

/// Lists every process except the kernel's threads, or all if `ps` cannot tell them apart. The threads are seen in
/// the machine's own PID namespace alone; in another one, process 2 is a command.
const SCRIPT: &str = "{ read -r name </proc/2/comm; } 2>/dev/null; \
    test \"$name\" = kthreadd && ps -fN --ppid 2 -p 2 2>/dev/null || exec ps -ef";

// Arguments of `msb top`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Runs ps in the sandbox, so the image must have ps and, if no OPTION is given, a shell.\n\n\
    Examples:\n  \
    msb top work\n  \
    msb top work -eo pid,user,rss,args"
)]
pub(crate) struct Arguments {
    /// Sandbox, by name or id
    sandbox: String,
    /// Options for ps [default: all processes but the kernel's own, in full format]
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    options: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let command = if arguments.options.is_empty() {
        ["sh", "-c", SCRIPT].map(str::to_owned).to_vec()
    } else {
        [vec!["ps".to_owned()], arguments.options].concat()
    };
    let exec = exec::Arguments::report(arguments.sandbox, command);
    exec::run(context, &exec).await
}
