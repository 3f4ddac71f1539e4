use std::fmt::Write as _;

use anyhow::anyhow;
use msb_sdk::{ErrorKind, Port};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

// Arguments of `msb port`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb run -d --name web -p 80 nginx; msb port web\n  \
    curl http://$(msb port web 80)/")]
pub(crate) struct Arguments {
    /// Sandbox, by name or id
    sandbox: String,
    /// Print only the host addresses of this port of the sandbox
    #[arg(value_name = "PORT[/tcp|udp]")]
    port: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let name = &arguments.sandbox;
    let wanted = arguments.port.as_deref().map(Port::from_guest_port);
    let wanted = wanted.transpose()?;
    let ports = context.handle(name).await?.ports().await;
    let published = ports.map_err(|error| match error.kind() {
        ErrorKind::NotRunning => {
            anyhow!("sandbox {name} is not running, so none of its ports is published").into()
        }
        _ => Failure::from(error),
    })?;
    let Some(wanted) = wanted else {
        output::print(&all(&published))?;
        return Ok(0);
    };
    let lines = places(&published, &wanted);
    if lines.is_empty() {
        let (port, protocol) = (wanted.guest_port, wanted.protocol);
        return Err(anyhow!("sandbox {name} does not publish port {port}/{protocol}").into());
    }
    output::print(&lines)?;
    Ok(0)
}

/// Formats all published ports as `docker port` does.
fn all(published: &[Port]) -> String {
    let mut lines = String::new();
    for publish in published {
        let (port, protocol) = (publish.guest_port, publish.protocol);
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{port}/{protocol} -> {}", publish.host());
    }
    lines
}

/// Formats the addresses of the host at which one guest port is published, one for each line.
fn places(published: &[Port], wanted: &Port) -> String {
    let end = |publish: &Port| (publish.guest_port, publish.protocol);
    let found = published
        .iter()
        .filter(|publish| end(publish) == end(wanted));
    found
        .map(|publish| format!("{}\n", publish.host()))
        .collect()
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
        .map(|text| serde_json::from_value::<Port>(text.into()).unwrap());
        assert_eq!(
            all(&published),
            "80/tcp -> 127.0.0.1:32768\n80/tcp -> 0.0.0.0:8080\n53/udp -> 127.0.0.1:5353\n"
        );
        let of = |text| places(&published, &Port::from_guest_port(text).unwrap());
        assert_eq!(of("80"), "127.0.0.1:32768\n0.0.0.0:8080\n");
        assert_eq!(of("53/udp"), "127.0.0.1:5353\n");
        assert_eq!(of("53"), "");
    }
}
