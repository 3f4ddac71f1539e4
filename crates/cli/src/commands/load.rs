use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use msb_sdk::LoadOptions;
use oci_image::Platform;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::limits::LimitArguments;
use crate::progress::Bars;
use crate::{output, terminal};

// Arguments of `msb load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    docker save app:dev | msb load\n  \
    msb load -t app:dev ./layout        an OCI layout directory\n  \
    msb load image.oci.tar")]
pub(crate) struct Arguments {
    /// Name of the image, instead of the name in the archive
    #[arg(short, long, value_name = "NAME")]
    tag: Option<String>,
    /// Platform of the image [default: linux on this host's architecture]
    #[arg(long, value_name = "OS/ARCH[/VARIANT]")]
    platform: Option<Platform>,
    #[command(flatten)]
    limits: LimitArguments,
    /// OCI layout directory, OCI archive or docker archive; - for standard input, which is also read
    /// where there is no PATH and it is no terminal
    path: Option<PathBuf>,
    /// Read this instead of PATH, as docker load and podman load do
    #[arg(short, long, value_name = "PATH", conflicts_with = "path")]
    input: Option<PathBuf>,
}

impl Arguments {
    /// Returns the path of the archive; `None` for standard input.
    fn source(&self, stdin_is_terminal: bool) -> Result<Option<PathBuf>, Failure> {
        match self.path.as_ref().or(self.input.as_ref()) {
            Some(path) if path.as_os_str() != "-" => Ok(Some(path.clone())),
            None if stdin_is_terminal => Err(anyhow!(
                "no archive to load: name an archive or a layout directory, or pass an archive on \
                 standard input"
            )
            .into()),
            Some(_) | None => Ok(None),
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = LoadOptions::default();
    options.path = arguments.source(terminal::stdin_is_terminal())?;
    options.tag.clone_from(&arguments.tag);
    options.platform = arguments.platform.as_ref().map(ToString::to_string);
    options.limits = arguments.limits.by_name();
    options.store_limit = arguments.limits.store_limit();
    let bars = Arc::new(Bars::new(context.quiet));
    let shown = Arc::clone(&bars);
    let load = context.msb.images().load("").with_options(options);
    let loaded = load.watch(move |event| shown.show(&event)).await;
    bars.finish();
    let images = loaded?;
    if let Some(image) = images.first() {
        context.print_notices(image.warnings());
    }
    for image in images {
        output::print(&format!("{}\n", image.digest()))?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Arguments;

    #[derive(Debug, Parser)]
    struct Load {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn an_archive_is_named_once_in_either_way() {
        let source = |words: &[&str], stdin_is_terminal| {
            let words = ["load"].iter().chain(words);
            Load::try_parse_from(words).map(|load| load.arguments.source(stdin_is_terminal))
        };
        for words in [&["app.tar"][..], &["-i", "app.tar"], &["--input=app.tar"]] {
            let source = source(words, true).expect("one path");
            assert!(matches!(&source, Ok(Some(path)) if path.as_os_str() == "app.tar"));
        }
        for words in [&["-"][..], &["-i", "-"]] {
            let source = source(words, true).expect("one path");
            assert!(matches!(source, Ok(None)));
        }
        let piped = source(&[], false).expect("no path");
        assert!(matches!(piped, Ok(None)));
        let nothing = source(&[], true).expect("no path");
        nothing.expect_err("nobody types an archive");
        source(&["-i", "app.tar", "app.tar"], true).expect_err("two paths");
    }
}
