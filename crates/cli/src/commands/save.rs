use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::anyhow;
use clap::ValueEnum;
use msb_sdk::{SaveFormat, SaveRequest};

use super::Context;
use crate::layer_compression::Compression;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::stdout_stream::StdoutStream;
use msb_terminal::terminal;

// Arguments of `msb save`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The archive has the original tars of the layers, so their diff IDs do not \
    change. The layers of a docker-archive are not compressed. The same images produce the same \
    archive. A file is replaced only when the archive is complete.\n\n\
    msb load, docker load, podman load, skopeo and umoci read the archive. Images that an older \
    msb stored must first be pulled or loaded again.\n\n\
    Examples:\n  \
    msb save -o app.tar app:dev\n  \
    msb save app:dev | ssh host msb load\n  \
    msb save --format oci-archive --compression zstd -o app.oci.tar app:dev\n  \
    msb save --format oci-dir -o layout app:dev"
)]
pub(crate) struct Arguments {
    /// Path of the archive, or of a new directory for oci-dir [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Format of the archive
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Compression of the layers of an OCI archive [default: gzip]
    #[arg(long, value_enum)]
    compression: Option<Compression>,
    /// Images, by name, digest or the beginning of a digest; names are kept in the archive
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
}

/// The form of an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The archive that docker save writes
    #[default]
    DockerArchive,
    /// An OCI layout in a tar
    OciArchive,
    /// An OCI layout in a directory
    OciDir,
}

impl Arguments {
    fn request(&self, context: &Context) -> Result<SaveRequest, Failure> {
        if self.format == Format::DockerArchive && self.compression.is_some() {
            return Err(anyhow!(
                "--compression cannot be given with a docker-archive, whose layers are not \
                 compressed: add --format oci-archive"
            )
            .into());
        }
        let path = self.output.clone().filter(|path| path.as_os_str() != "-");
        let images = context.msb.images();
        let request = match path {
            Some(path) => images.save(&self.images, path),
            None => images.save_stream(&self.images),
        };
        let request = request.format(match self.format {
            Format::DockerArchive => SaveFormat::DockerArchive,
            Format::OciArchive => SaveFormat::OciArchive,
            Format::OciDir => SaveFormat::OciDir,
        });
        Ok(match self.compression {
            None => request,
            Some(compression) => request.compression(compression.into()),
        })
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let request = arguments.request(context)?;
    let is_file = arguments
        .output
        .as_ref()
        .is_some_and(|path| path.as_os_str() != "-");
    let interrupted = |code| {
        let message = if is_file {
            "interrupted: no archive was written"
        } else {
            "interrupted: the archive on standard output is not complete"
        };
        Failure::with_exit_code(anyhow!(message), code)
    };
    if is_file {
        let saving = std::future::IntoFuture::into_future(request);
        context.cancellable(saving, interrupted).await?;
        return Ok(0);
    }
    if arguments.format != Format::OciDir {
        terminal::refuse_archive("name a file with -o, or redirect the output")?;
    }
    let stdout = StdoutStream::default();
    let is_closed = stdout.closed();
    let saving = request.write_to(stdout);
    match context.cancellable(saving, interrupted).await {
        // A reader that closed the pipe wants no more.
        Err(_) if is_closed.load(Ordering::Relaxed) => Ok(0),
        saved => saved.map(|()| 0),
    }
}
