use std::path::PathBuf;

use anyhow::anyhow;
use msb_sdk::{Error, Push, PushOptions, Pushed};

use super::Context;
use crate::docker::NeedlessOptions;
use crate::layer_compression::Compression;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output::{self, Format};
use msb_terminal::push_bars::PushBars;

// Arguments of `msb push`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "DEST is the name in the registry; the default is IMAGE. Layers that the registry \
    already has are not sent, and layers of its other repositories are mounted. The rest come from \
    the registry that the image was pulled from, or are compressed again from the store. If no \
    layer had to be compressed, the image keeps its digest. The manifest is sent last, so an \
    interrupted push publishes nothing, and the next push sends the rest.\n\n\
    msb login stores the password. Proxies and certificates come from $MSB_HOME/registries.toml, \
    the environment and /etc/docker/certs.d.\n\n\
    Examples:\n  \
    msb push ghcr.io/me/app:1\n  \
    msb push app:dev ghcr.io/me/app:1             under another name\n  \
    msb push --format json app:dev localhost:5000/app | jq -r .digest"
)]
pub(crate) struct Arguments {
    /// Compression of layers that no registry has
    #[arg(long, value_enum, default_value_t)]
    compression: Compression,
    /// Connect to the registry over HTTP, without TLS
    #[arg(long, conflicts_with = "tls_ca")]
    plain_http: bool,
    /// PEM file of additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    needless: NeedlessOptions,
    /// Image, by name or digest
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Name in the registry, with its tag [default: IMAGE]
    #[arg(value_name = "DEST")]
    destination: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    arguments.needless.print(context.quiet);
    let mut options = PushOptions::default();
    options.name.clone_from(&arguments.name);
    options.destination.clone_from(&arguments.destination);
    options.plain_http = arguments.plain_http;
    options.tls_ca.clone_from(&arguments.tls_ca);
    options.compression = arguments.compression.into();
    let bars = PushBars::new(context.quiet);
    let push = context.msb.images().push("").with_options(options);
    let pushed = tokio::select! {
        // Signals are polled first, so that none is missed.
        biased;
        code = context.interrupts.wait() => Err(interrupted(code)),
        pushed = shown(push.watch(), &bars) => pushed.map_err(Into::into),
    };
    bars.finish();
    let pushed = pushed?;
    if arguments.format == Format::Json {
        output::print_json(&pushed)?;
        return Ok(0);
    }
    if !context.quiet {
        notice_changes(&pushed);
    }
    output::print(&format!("{}\n", pushed.digest))?;
    Ok(0)
}

/// Shows the progress of a push until it is complete.
async fn shown(push: Push, bars: &PushBars) -> Result<Pushed, Error> {
    while let Some(event) = push.next().await? {
        bars.show(&event);
    }
    push.pushed().await
}

fn interrupted(code: u8) -> Failure {
    let message = "interrupted: the image is published only if its manifest was on its way already; layers \
         that arrived whole are not sent again";
    Failure::with_exit_code(anyhow!(message), code)
}

/// Tells why an image has another digest at the registry than in the store.
fn notice_changes(pushed: &Pushed) {
    if pushed.digest == pushed.source_digest {
        return;
    }
    output::notice(
        "layers were compressed again, so the image has a different digest in the registry",
    );
}
