use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use msb_sdk::LoadOptions;
use oci_image::Platform;

use super::Context;
use crate::limits::LimitArguments;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::progress::Bars;
use msb_terminal::{output, terminal};

/// The path of an archive, and the image to load of it.
type Source = (Option<PathBuf>, Option<String>);

// Arguments of `msb load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    docker save app:dev | msb load\n  \
    msb load -t app:dev ./layout        an OCI layout directory\n  \
    msb load -t app:dev ./layout:1.2    the image with the tag 1.2 in the layout\n  \
    msb load image.oci.tar")]
pub(crate) struct Arguments {
    /// Name of the image, instead of the name in the archive
    #[arg(short, long, value_name = "NAME")]
    tag: Option<String>,
    /// Platform of the image [default: linux, as this host]
    #[arg(long, value_name = "OS/ARCH[/VARIANT]")]
    platform: Option<Platform>,
    #[command(flatten)]
    limits: LimitArguments,
    /// OCI layout directory, OCI archive or docker archive; - for standard input, which is the
    /// default unless it is a terminal. PATH:TAG, PATH:NAME, PATH:@POSITION (from 0) and
    /// PATH:@DIGEST load one image of several
    path: Option<PathBuf>,
    /// Archive to read instead of PATH, as in docker load and podman load
    #[arg(short, long, value_name = "PATH", conflicts_with = "path")]
    input: Option<PathBuf>,
}

impl Arguments {
    /// Returns the path of the archive, `None` for standard input, and the image to load of several.
    fn source(&self, stdin_is_terminal: bool) -> Result<Source, Failure> {
        match self.path.as_ref().or(self.input.as_ref()) {
            Some(path) if path.as_os_str() != "-" => {
                let (path, image) = split(path);
                Ok((Some(path), image))
            }
            None if stdin_is_terminal => Err(anyhow!(
                "no archive to load: name an archive or a layout directory, or pass an archive on \
                 standard input"
            )
            .into()),
            Some(_) | None => Ok((None, None)),
        }
    }
}

/// Splits `PATH:IMAGE`. A path that exists is one, whatever is in it.
fn split(path: &Path) -> (PathBuf, Option<String>) {
    if path.exists() {
        return (path.to_owned(), None);
    }
    let text = path.to_str().unwrap_or_default();
    let splits = text.match_indices(':');
    let mut split = splits.map(|(colon, _)| (&text[..colon], &text[colon + 1..]));
    match split.find(|(archive, image)| !image.is_empty() && Path::new(archive).exists()) {
        Some((archive, image)) => (archive.into(), Some(image.to_owned())),
        None => (path.to_owned(), None),
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = LoadOptions::default();
    (options.path, options.image) = arguments.source(terminal::stdin_is_terminal())?;
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

    use super::{Arguments, split};

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
            assert!(matches!(&source, Ok((Some(path), None)) if path.as_os_str() == "app.tar"));
        }
        for words in [&["-"][..], &["-i", "-"]] {
            let source = source(words, true).expect("one path");
            assert!(matches!(source, Ok((None, None))));
        }
        let piped = source(&[], false).expect("no path");
        assert!(matches!(piped, Ok((None, None))));
        let nothing = source(&[], true).expect("no path");
        nothing.expect_err("nobody types an archive");
        source(&["-i", "app.tar", "app.tar"], true).expect_err("two paths");
    }

    #[test]
    fn an_image_of_several_follows_a_colon_unless_the_path_exists() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["layout", "with:colon"] {
            std::fs::create_dir(directory.path().join(name)).expect("made");
        }
        for (text, path, image) in [
            ("layout", "layout", None),
            ("layout:1.2", "layout", Some("1.2")),
            ("layout:reg.io:5000/a:1", "layout", Some("reg.io:5000/a:1")),
            ("layout:@sha256:00", "layout", Some("@sha256:00")),
            ("with:colon", "with:colon", None),
            ("with:colon:latest", "with:colon", Some("latest")),
            ("missing:1", "missing:1", None),
            ("layout:", "layout:", None),
        ] {
            let split = split(&directory.path().join(text));
            let expected = (directory.path().join(path), image.map(str::to_owned));
            assert_eq!(split, expected, "{text}");
        }
    }
}
