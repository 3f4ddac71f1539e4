use std::path::PathBuf;

use msb_sdk::{Image, SourceOptions};
use oci_image::Platform;

use super::Context;
use crate::docker::NeedlessOptions;
use crate::limits::LimitArguments;
use msb_terminal::failure::{Failure, Failures, Interrupted, Outcome};
use msb_terminal::output;
use msb_terminal::progress::Bars;

// Arguments of `msb pull`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Credentials come from docker's config.json ($DOCKER_CONFIG, ~/.docker), its credential \
    helpers included; mirrors, proxies and certificates from $MSB_HOME/registries.toml, the environment and \
    /etc/docker/certs.d. An interrupted pull keeps the layers that are complete.\n\n\
    Examples:\n  \
    msb pull alpine\n  \
    msb pull --platform linux/arm64 ghcr.io/owner/image:tag\n  \
    msb pull --plain-http registry.local:5000/image"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    needless: NeedlessOptions,
    /// Names of images, in the syntax of docker pull
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
}

// The options for the source of an image.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceArguments {
    /// Platform of the image [default: linux, as this host]
    #[arg(long, value_name = "OS/ARCH[/VARIANT]")]
    pub(crate) platform: Option<Platform>,
    /// Connect to the registry over HTTP, without TLS
    #[arg(long, conflicts_with = "tls_ca")]
    plain_http: bool,
    /// PEM file of additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
}

impl SourceArguments {
    /// Returns the source as the SDK takes it.
    pub(crate) fn source(&self) -> SourceOptions {
        let mut source = SourceOptions::default();
        source.platform = self.platform.as_ref().map(ToString::to_string);
        source.plain_http = self.plain_http;
        source.tls_ca.clone_from(&self.tls_ca);
        source.limits = self.limits.by_name();
        source.store_limit = self.limits.store_limit();
        source
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    arguments.needless.print(context.quiet);
    let mut failures = Failures::default();
    for name in &arguments.images {
        let pulled = pull(context, name, &arguments.source).await;
        let pulled = match arguments.images.len() {
            1 => Some(pulled?),
            _ => failures.note(pulled),
        };
        if let Some(image) = pulled {
            output::print(&format!("{}\n", image.digest()))?;
        }
    }
    Ok(failures.code)
}

/// Pulls an image, and shows the progress on a terminal.
async fn pull(context: &Context, name: &str, source: &SourceArguments) -> Result<Image, Failure> {
    let mut options = msb_sdk::PullOptions::default();
    name.clone_into(&mut options.name);
    options.source = source.source();
    let bars = Bars::new(context.quiet);
    let pull = context.msb.images().watch_with(options);
    let watching = async {
        while let Some(event) = pull.next().await? {
            bars.show(&event);
        }
        pull.image().await
    };
    let pulled = tokio::select! {
        // Signals are polled first, so that none is missed.
        biased;
        code = context.interrupts.wait() => {
            Err(Failure::with_exit_code(Interrupted.into(), code))
        }
        pulled = watching => pulled.map_err(Into::into),
    };
    bars.finish();
    let image = pulled?;
    context.print_notices(image.warnings());
    Ok(image)
}
