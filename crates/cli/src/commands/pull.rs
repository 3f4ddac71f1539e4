use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use image_store::{Platform, PullOptions, Reference, Registries, Store, StoredImage};

use super::{Context, budget};
use crate::failure::{Failure, Outcome};
use crate::limits::LimitArguments;
use crate::output;
use crate::progress::Bars;

/// What the user says about registries, in `MSB_HOME`.
const SETTINGS: &str = "registries.toml";

// Arguments of `msb pull`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Credentials come from docker's config.json ($DOCKER_CONFIG, ~/.docker), its \
    credential helpers included; mirrors, proxies and \
    certificates from $MSB_HOME/registries.toml, the environment and /etc/docker/certs.d.\n\n\
    Examples:\n  \
    msb pull alpine\n  \
    msb pull --platform linux/arm64 ghcr.io/owner/image:tag\n  \
    msb pull --plain-http registry.local:5000/image"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// Name of the image, as docker pull takes it
    image: String,
}

// Where an image comes from.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceArguments {
    /// Which of the image's platforms [default: linux on this host's architecture]
    #[arg(long, value_name = "OS/ARCH[/VARIANT]")]
    pub(crate) platform: Option<Platform>,
    /// Speak HTTP without TLS to the registry
    #[arg(long, conflicts_with = "tls_ca")]
    plain_http: bool,
    /// Trust these certificate authorities too, a PEM file
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let store = context.store()?;
    let image = pull(context, &store, &arguments.image, &arguments.source).await?;
    output::print(&format!("{}\n", image.record.manifest_digest))?;
    Ok(0)
}

/// Pulls an image, showing progress where there is a terminal.
pub(crate) async fn pull(
    context: &Context,
    store: &Store,
    name: &str,
    source: &SourceArguments,
) -> Result<StoredImage, Failure> {
    let reference: Reference = name
        .parse()
        .with_context(|| format!("'{name}' names no image in a registry"))?;
    let mut options = options(context)?;
    options.registries.authorities = source.tls_ca.clone();
    options.platform.clone_from(&source.platform);
    options.plain_http = source.plain_http;
    options.limits = source.limits.limits()?;
    let bars = Arc::new(Bars::new(context.quiet));
    let pulled = store.pull(&reference, &options, bars.clone()).await;
    bars.finish();
    let image = pulled?;
    budget::keep(
        context,
        store,
        source.limits.store_limit_bytes(),
        &[image.record.manifest_digest],
    )?;
    Ok(image)
}

/// How to pull, as the settings in `MSB_HOME` have it.
pub(super) fn options(context: &Context) -> anyhow::Result<PullOptions> {
    Ok(PullOptions {
        registries: Registries::read(&context.home.root().join(SETTINGS))?,
        ..PullOptions::default()
    })
}
