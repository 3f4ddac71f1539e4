use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use msb_mcp::Settings;
use msb_sdk::{DISK_DEFAULT_TEXT, MEMORY_DEFAULT_TEXT, SandboxOptions, Size};

use super::Context;
use super::machine::MachineArguments;
use super::network::NetworkArguments;
use super::resources::{parse_cpus, parse_memory};
use super::volume::MountArguments;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::option_values::Duration;
use msb_terminal::{output, terminal};

// Arguments of `msb mcp`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An MCP client, such as a coding agent, starts msb mcp and talks to it over standard input and \
    output. Its model then creates sandboxes, runs commands, reads, writes and compares files, takes snapshots and \
    goes back to them. It sees only the sandboxes of the session, and each of them has these options; a call can lower \
    memory, processors and the reach of the network. Directories of --dir are staged: a sandbox gets copies, and \
    changes are written to the host by sandbox_apply alone, which asks the user where the client can ask.\n\n\
    Examples:\n  \
    claude mcp add msb -- msb mcp --image python:3-slim --rm\n  \
    msb mcp --dir ~/src/project --network listed --net-allow '*.pypi.org:443'"
)]
pub(crate) struct Arguments {
    /// Image of sandboxes; the first one is the default, and the client can choose no other [default: any]
    #[arg(long, value_name = "IMAGE")]
    image: Vec<String>,
    /// Stage a directory of this host in each sandbox, at /work [default: the roots of the client]
    #[arg(long, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// Leave out the directories that the client offers as roots
    #[arg(long)]
    no_roots: bool,
    /// Leave out the tool that writes changes to staged directories of this host
    #[arg(long)]
    no_apply: bool,
    /// Remove the sandboxes when the session ends
    #[arg(long)]
    rm: bool,
    /// Stop a sandbox when it has not been used for this long; the next call starts it again
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30m",
        conflicts_with = "rm"
    )]
    idle_timeout: Duration,
    /// Let the client work with all sandboxes, not only with those of its session
    #[arg(long)]
    all: bool,
    /// Largest number of sandboxes in the session
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    max_sandboxes: u8,
    /// Virtual processors [default: the host's, at most 4]
    #[arg(long, value_name = "COUNT", value_parser = parse_cpus)]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(long, value_name = "SIZE", default_value = MEMORY_DEFAULT_TEXT, value_parser = parse_memory)]
    memory: u32,
    /// Size of the writable disk
    #[arg(long, value_name = "SIZE", default_value = DISK_DEFAULT_TEXT, value_parser = output::parse_size)]
    upper_size: u64,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    mounts: MountArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

impl Arguments {
    /// Returns the options of each sandbox. An option that a client must not choose is set here.
    fn template(&self) -> Result<SandboxOptions, Failure> {
        let mut template = SandboxOptions::default();
        template.cpus = self.cpus;
        template.memory = Some(Size::new(u64::from(self.memory) << 20));
        template.disk = Some(Size::new(self.upper_size));
        template.mounts = self.mounts.mounts()?;
        template.network = self.network.network();
        template.ports = self.network.ports();
        template.publish_all = self.network.publishes_all();
        template.host_ca = self.network.trusts_host();
        template.start = self.machine.start();
        Ok(template)
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let directories = self.dir.iter().map(|directory| {
            let found = directory.canonicalize();
            found.with_context(|| format!("cannot use --dir {}", directory.display()))
        });
        Ok(Settings {
            template: self.template()?,
            images: self.image.clone(),
            directories: directories.collect::<Result<_, _>>()?,
            uses_roots: !self.no_roots,
            applies: !self.no_apply,
            removes: self.rm,
            idle_timeout: std::time::Duration::from_secs(self.idle_timeout.0),
            sees_all: self.all,
            sandboxes_max: usize::from(self.max_sandboxes),
        })
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let settings = arguments.settings()?;
    if terminal::stdin_is_terminal() {
        return Err(anyhow!(
            "msb mcp is started by an MCP client, and standard input is a terminal: add it to a client, as with \
             claude mcp add msb -- msb mcp"
        )
        .into());
    }
    let streams = msb_mcp::standard_streams();
    let interrupted = context.interrupts.wait();
    let served = msb_mcp::serve(context.msb.clone(), settings, streams, interrupted).await?;
    Ok(served.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use msb_sdk::NetworkMode;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn settings(words: &[&str]) -> Settings {
        let words = ["msb"].iter().chain(words);
        let line = <Line as clap::Parser>::try_parse_from(words).expect("a command line");
        line.arguments.settings().expect("settings")
    }

    #[test]
    fn a_client_is_limited_by_the_command_line() {
        let settings = settings(&[
            "--image",
            "debian",
            "--image=alpine",
            "--rm",
            "--no-roots",
            "--no-apply",
            "--memory=512M",
            "--network=listed",
            "--net-allow=a.example:443",
            "--max-sandboxes=2",
            "-v",
            "cache:/root/.cache",
            "--dir=/",
        ]);
        assert_eq!(settings.images, ["debian", "alpine"]);
        assert!(settings.removes && !settings.uses_roots && !settings.applies);
        assert_eq!(settings.directories, [PathBuf::from("/")]);
        assert_eq!(settings.sandboxes_max, 2);
        let template = settings.template;
        assert_eq!(template.memory, Some(Size::new(512 << 20)));
        assert_eq!(template.network.mode, NetworkMode::Listed);
        assert_eq!(template.network.allow, ["a.example:443"]);
        assert_eq!(template.mounts.len(), 1);
    }

    #[test]
    fn a_session_leaves_sandboxes_that_stop() {
        let settings = settings(&[]);
        assert!(!settings.removes && settings.uses_roots && settings.applies);
        assert!(!settings.sees_all && settings.images.is_empty());
        let half_an_hour = std::time::Duration::from_secs(30 * 60);
        assert_eq!(settings.idle_timeout, half_an_hour);
        let words = ["msb", "--rm", "--idle-timeout=1h"];
        assert!(<Line as clap::Parser>::try_parse_from(words).is_err());
        let words = ["msb", "--max-sandboxes=0"];
        assert!(<Line as clap::Parser>::try_parse_from(words).is_err());
    }
}
