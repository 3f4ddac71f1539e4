use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use msb_ssh::{ClientFiles, ClientOptions, HostKey, sandbox_name};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::{output, terminal};

// Arguments of `msb ssh`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The OpenSSH client of this host connects over msb ssh-proxy: nothing listens, and the image needs no \
    sshd, keys or password. The words of the command are joined with spaces, for the shell of the user in the \
    sandbox. msb ssh-config makes ssh, scp, sftp, rsync and editors know NAME.msb.\n\n\
    Exit code: the command's own; 255 when a signal ended it, or the connection failed.\n\n\
    Examples:\n  \
    msb ssh work\n  \
    msb ssh work 'cd /srv && make'\n  \
    msb ssh -L 8080:localhost:80 work"
)]
pub(crate) struct Arguments {
    /// User in the sandbox, by name or number [default: root]
    #[arg(
        short = 'l',
        short_alias = 'u',
        long,
        visible_alias = "user",
        value_name = "USER"
    )]
    login: Option<String>,
    /// Give the command a terminal
    #[arg(short = 't', long)]
    tty: bool,
    /// Let the user in the sandbox use the keys of this host's ssh-agent
    #[arg(short = 'A', long)]
    forward_agent: bool,
    /// Port or socket of this host that leads to a socket of the sandbox, such as 8080:localhost:80
    #[arg(short = 'L', long, value_name = "[ADDRESS:]PORT:HOST:PORT")]
    forward: Vec<String>,
    /// Port of this host that leads to all addresses that the sandbox reaches, by SOCKS
    #[arg(short = 'D', long, value_name = "[ADDRESS:]PORT")]
    proxy: Vec<String>,
    /// Sandbox, by name or id
    sandbox: String,
    /// Command [default: the user's shell]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

// Arguments of `msb ssh-config`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --install the entry is printed, for ~/.ssh/config. It holds for all sandboxes, as NAME.msb, \
    unless a sandbox is named.\n\n\
    Examples:\n  \
    msb ssh-config --install\n  \
    msb ssh-config work >> ~/.ssh/config"
)]
pub(crate) struct ConfigArguments {
    /// Write the entry to ssh/config in the home, and print the line that includes it
    #[arg(long, conflicts_with = "sandbox")]
    install: bool,
    /// Sandbox, by name [default: all]
    sandbox: Option<String>,
}

// Arguments of `msb ssh-proxy`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An OpenSSH client starts msb ssh-proxy as its ProxyCommand, and speaks SSH with it over standard input \
    and output.\n\n\
    Examples:\n  \
    ssh -o ProxyCommand=\"msb ssh-proxy '%n'\" root@work.msb"
)]
pub(crate) struct ProxyArguments {
    /// Sandbox, by name or id, or by name with .msb behind it
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(sandbox_name(&arguments.sandbox)).await?;
    let program = program()?;
    let files = files(context, &program);
    let config = files.install(&HostKey::open(files.home)?)?;
    let options = ClientOptions {
        user: arguments.login.clone(),
        has_terminal: arguments.tty,
        forwards_agent: arguments.forward_agent,
        forwards: arguments.forward.clone(),
        proxies: arguments.proxy.clone(),
        command: arguments.command.clone(),
    };
    Err(options.execute(&sandbox.name(), &config).into())
}

pub(crate) fn configure(context: &Context, arguments: &ConfigArguments) -> Outcome {
    let program = program()?;
    let files = files(context, &program);
    let key = HostKey::open(files.home)?;
    if arguments.install {
        let config = files.install(&key)?;
        let line = format!("Include \"{}\"\n", config.display());
        output::print(&line)?;
        if !context.quiet {
            output::notice("add this line to the beginning of ~/.ssh/config");
        }
        return Ok(0);
    }
    files.write_known_hosts(&key)?;
    output::print(&files.config(arguments.sandbox.as_deref())?)?;
    Ok(0)
}

pub(crate) async fn serve(context: &Context, arguments: &ProxyArguments) -> Outcome {
    if terminal::stdin_is_terminal() {
        return Err(anyhow!(
            "msb ssh-proxy is started by an SSH client, and standard input is a terminal: msb ssh starts such a client"
        )
        .into());
    }
    let sandbox = context.handle(sandbox_name(&arguments.sandbox)).await?;
    let key = HostKey::open(context.home.root())?;
    let streams = msb_mcp::standard_streams();
    let interrupted = context.interrupts.wait();
    let served = msb_ssh::serve(&context.msb, sandbox, &key, streams, interrupted).await?;
    Ok(served.unwrap_or(0))
}

/// Returns the path of this program, which clients start.
fn program() -> Result<PathBuf, Failure> {
    Ok(env::current_exe().context("cannot find the path of this program")?)
}

fn files<'a>(context: &'a Context, program: &'a Path) -> ClientFiles<'a> {
    ClientFiles {
        program,
        home: context.home.root(),
    }
}
