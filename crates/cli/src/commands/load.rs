use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use image_import::{LoadOptions, LoadSource};
use oci_image::{Platform, Reference};

use super::{Context, budget};
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
    fn source(&self, stdin_is_terminal: bool) -> Result<LoadSource, Failure> {
        match self.path.as_ref().or(self.input.as_ref()) {
            Some(path) if path.as_os_str() != "-" => Ok(LoadSource::Path(path.clone())),
            None if stdin_is_terminal => Err(anyhow!(
                "no archive to load: name an archive or a layout directory, or pass an archive on \
                 standard input"
            )
            .into()),
            Some(_) | None => Ok(LoadSource::Stdin),
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let name = |name: &String| {
        name.parse::<Reference>()
            .with_context(|| format!("'{name}' cannot be the name of an image"))
    };
    let options = LoadOptions {
        name: arguments.tag.as_ref().map(name).transpose()?,
        platform: arguments.platform.clone(),
        limits: arguments.limits.limits()?,
        ..LoadOptions::default()
    };
    let source = arguments.source(terminal::stdin_is_terminal())?;
    let bars = Arc::new(Bars::new(context.quiet));
    let store = context.store()?;
    let loaded = image_import::load(&store, &source, &options, bars.clone()).await;
    bars.finish();
    let loaded = loaded?;
    let newest: Vec<_> = loaded
        .iter()
        .map(|image| image.record.manifest_digest)
        .collect();
    budget::keep(
        context,
        &store,
        arguments.limits.store_limit_bytes(),
        &newest,
    )?;
    for image in loaded {
        output::print(&format!("{}\n", image.record.manifest_digest))?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Arguments, LoadSource};

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
            assert!(matches!(&source, Ok(LoadSource::Path(path)) if path.as_os_str() == "app.tar"));
        }
        for words in [&["-"][..], &["-i", "-"]] {
            let source = source(words, true).expect("one path");
            assert!(matches!(source, Ok(LoadSource::Stdin)));
        }
        let piped = source(&[], false).expect("no path");
        assert!(matches!(piped, Ok(LoadSource::Stdin)));
        let nothing = source(&[], true).expect("no path");
        nothing.expect_err("nobody types an archive");
        source(&["-i", "app.tar", "app.tar"], true).expect_err("two paths");
    }
}
