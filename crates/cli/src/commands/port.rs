use std::fmt::Write as _;

use anyhow::{Context as _, anyhow};
use msb_runtime::State;
use msb_runtime::network::Publish;

use super::Context;
use crate::failure::Outcome;
use crate::output;

// Arguments of `msb port`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb run -d --name web -p 80 nginx; msb port web\n  \
    curl http://$(msb port web 80)/")]
pub(crate) struct Arguments {
    /// Sandbox, by name or id
    sandbox: String,
    /// Print only where this port of the sandbox is published
    #[arg(value_name = "PORT[/tcp|udp]")]
    port: Option<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let name = &arguments.sandbox;
    let sandbox = context.sandbox(name)?;
    if sandbox.state()? != State::Running {
        return Err(
            anyhow!("sandbox {name} is not running, so none of its ports is published").into(),
        );
    }
    let published = sandbox.published()?;
    let Some(port) = &arguments.port else {
        output::print(&all(&published))?;
        return Ok(0);
    };
    let wanted = Publish::from_guest_port(port);
    let wanted = wanted.with_context(|| format!("'{port}' is not a port: write PORT[/tcp|udp]"))?;
    let lines = places(&published, &wanted);
    if lines.is_empty() {
        let (port, protocol) = (wanted.guest_port, wanted.protocol);
        return Err(anyhow!("sandbox {name} does not publish port {port}/{protocol}").into());
    }
    output::print(&lines)?;
    Ok(0)
}

/// Formats all published ports as `docker port` does.
fn all(published: &[Publish]) -> String {
    let mut lines = String::new();
    for publish in published {
        let (port, protocol) = (publish.guest_port, publish.protocol);
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{port}/{protocol} -> {}", publish.host);
    }
    lines
}

/// Formats the addresses of the host at which one guest port is published, one for each line.
fn places(published: &[Publish], wanted: &Publish) -> String {
    let end = |publish: &Publish| (publish.guest_port, publish.protocol);
    let found = published
        .iter()
        .filter(|publish| end(publish) == end(wanted));
    found.map(|publish| format!("{}\n", publish.host)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_printed_as_docker_prints_them() {
        let published = [
            "127.0.0.1:32768:80",
            "0.0.0.0:8080:80",
            "127.0.0.1:5353:53/udp",
        ]
        .map(|text| text.parse::<Publish>().unwrap());
        assert_eq!(
            all(&published),
            "80/tcp -> 127.0.0.1:32768\n80/tcp -> 0.0.0.0:8080\n53/udp -> 127.0.0.1:5353\n"
        );
        let of = |text| places(&published, &Publish::from_guest_port(text).unwrap());
        assert_eq!(of("80"), "127.0.0.1:32768\n0.0.0.0:8080\n");
        assert_eq!(of("53/udp"), "127.0.0.1:5353\n");
        assert_eq!(of("53"), "");
    }
}
