mod entry;
mod list;

use std::ffi::OsString;
use std::io;

use msb_sdk::{MkdirOptions, ModeChange, RemoveOptions, WriteOptions};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::foreign_output::ForeignOutput;
use msb_terminal::output::Format;

// Arguments of `msb fs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Paths begin at the sandbox's root. ls, cat and stat also work on a stopped sandbox, by \
    reading its disks.\n\n\
    Examples:\n  \
    msb fs ls work /srv\n  \
    msb fs stat --format json work /etc/hosts\n  \
    msb fs cat work /var/log/app.log\n  \
    echo 'debug = true' | msb fs write work /etc/app.toml\n  \
    msb fs chmod work +x /usr/local/bin/tool"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the content of directories
    Ls(Looking),
    /// Print the content of files
    #[command(
        after_help = "On a terminal, control and invisible characters are escaped; a pipe gets the \
        bytes unchanged.\n\n\
        Examples:\n  \
        msb fs cat work /var/log/app.log"
    )]
    Cat(Paths),
    /// Show type, mode, owner, size and time of files
    Stat(Stating),
    /// Remove files
    Rm(Removing),
    /// Create directories
    Mkdir(Making),
    /// Create or replace a file with the content of standard input
    Write(Writing),
    /// Rename files, or move them into a directory
    Mv(Moving),
    /// Set the permission bits of files
    Chmod(ModeSetting),
}

#[derive(Debug, clap::Args)]
struct Paths {
    /// Sandbox, by name or id
    #[arg(value_parser = parse_sandbox)]
    sandbox: String,
    /// Paths in the sandbox
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs ls work /srv\n  \
    msb fs ls --format json work /etc")]
struct Looking {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    on: Paths,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs stat work /etc/hosts\n  \
    msb fs stat -L --format json work /bin/sh")]
struct Stating {
    /// Follow symlinks and show their targets
    #[arg(short = 'L', long)]
    follow_link: bool,
    #[command(flatten)]
    looking: Looking,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs rm work /srv/old.txt\n  \
    msb fs rm -rf work /srv/cache")]
struct Removing {
    /// Remove directories too, with everything in them
    #[arg(short, long)]
    recursive: bool,
    /// Ignore files that do not exist
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    on: Paths,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs mkdir -p work /srv/a/b\n  \
    msb fs mkdir -m 0700 work /root/keys")]
struct Making {
    /// Create missing parents, and do not fail if the directory exists
    #[arg(short, long)]
    parents: bool,
    /// Permission bits, in octal
    #[arg(short, long, value_parser = parse_mode)]
    mode: Option<u32>,
    #[command(flatten)]
    on: Paths,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    echo 'debug = true' | msb fs write work /etc/app.toml\n  \
    msb fs write -p -m 0755 work /opt/tools/bin/tool < tool.sh")]
struct Writing {
    /// Create missing parents
    #[arg(short, long)]
    parents: bool,
    /// Permission bits, in octal [default: those of the existing file, or 0644]
    #[arg(short, long, value_parser = parse_mode)]
    mode: Option<u32>,
    /// Sandbox, by name or id
    #[arg(value_parser = parse_sandbox)]
    sandbox: String,
    /// Path of the file in the sandbox
    path: OsString,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs mv work /srv/a.txt /srv/b.txt\n  \
    msb fs mv work /a /b /srv")]
struct Moving {
    /// Sandbox, by name or id
    #[arg(value_parser = parse_sandbox)]
    sandbox: String,
    /// Files, then the new name or a directory
    #[arg(required = true, num_args = 2.., value_name = "PATH")]
    paths: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb fs chmod work +x /usr/local/bin/tool\n  \
    msb fs chmod work 0640 /etc/app.toml")]
struct ModeSetting {
    /// Sandbox, by name or id
    #[arg(value_parser = parse_sandbox)]
    sandbox: String,
    /// Mode in the syntax of chmod: 0755, +x, u=rw,go=r
    #[arg(allow_hyphen_values = true)]
    mode: ModeChange,
    /// Paths in the sandbox
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

/// Refuses a sandbox and a path in one word, as `msb cp` takes them. No name of a sandbox has a colon.
fn parse_sandbox(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((sandbox, path)) if !sandbox.is_empty() && !path.is_empty() => Err(format!(
            "write the sandbox and the path as two words: {sandbox} {path}"
        )),
        _ => Ok(text.to_owned()),
    }
}

fn parse_mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| format!("'{text}' is not a mode: write octal digits such as 0755"))
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Ls(looking) => list::list(context, looking).await,
        Command::Stat(stating) => list::stat(context, stating).await,
        Command::Cat(paths) => cat(context, paths).await,
        Command::Rm(removing) => remove(context, removing).await,
        Command::Mkdir(making) => make(context, making).await,
        Command::Write(writing) => write(context, writing).await,
        Command::Mv(moving) => rename(context, moving).await,
        Command::Chmod(setting) => set_mode(context, setting).await,
    }
}

async fn cat(context: &Context, on: &Paths) -> Outcome {
    let files = context.files(&on.sandbox).await?;
    let mut shown = ForeignOutput::stdout();
    for path in &on.paths {
        let content = files.read_stream(path.as_os_str()).await?;
        while let Some(chunk) = content.next().await? {
            if !shown.offer(&chunk)? {
                // A reader that closed the pipe wants no more.
                return Ok(0);
            }
        }
    }
    shown.finish(context.quiet)?;
    Ok(0)
}

async fn remove(context: &Context, removing: &Removing) -> Outcome {
    let files = context.files(&removing.on.sandbox).await?;
    let mut options = RemoveOptions::default();
    (options.recursive, options.missing_ok) = (removing.recursive, removing.force);
    for path in &removing.on.paths {
        files.remove_with(path.as_os_str(), options).await?;
    }
    Ok(0)
}

async fn make(context: &Context, making: &Making) -> Outcome {
    let files = context.files(&making.on.sandbox).await?;
    let mut options = MkdirOptions::default();
    (options.parents, options.mode) = (making.parents, making.mode);
    for path in &making.on.paths {
        files.mkdir_with(path.as_os_str(), options).await?;
    }
    Ok(0)
}

async fn write(context: &Context, writing: &Writing) -> Outcome {
    let files = context.files(&writing.sandbox).await?;
    let mut options = WriteOptions::default();
    (options.parents, options.mode) = (writing.parents, writing.mode);
    let path = writing.path.as_os_str();
    files.write_from(path, io::stdin(), options).await?;
    Ok(0)
}

async fn rename(context: &Context, moving: &Moving) -> Outcome {
    let files = context.files(&moving.sandbox).await?;
    match moving.paths.as_slice() {
        [from, to] => files.rename(from.as_os_str(), to.as_os_str()).await?,
        [sources @ .., to] => {
            let sources = sources.iter().map(OsString::as_os_str);
            files.move_into(sources, to.as_os_str()).await?;
        }
        [] => {}
    }
    Ok(0)
}

async fn set_mode(context: &Context, setting: &ModeSetting) -> Outcome {
    let files = context.files(&setting.sandbox).await?;
    for path in &setting.paths {
        let change = setting.mode.clone();
        files.change_mode(path.as_os_str(), change).await?;
    }
    Ok(0)
}
