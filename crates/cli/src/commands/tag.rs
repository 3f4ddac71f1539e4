use super::Context;
use msb_terminal::failure::Outcome;

// Arguments of `msb tag`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The image keeps its other names; msb image rm NAME removes one of them. If \
    another image has the name, the name is moved to this image.\n\n\
    Examples:\n  \
    msb tag app:dev registry.example.org/team/app:1.4\n  \
    msb tag 3f5c2a1b90de app:known-good"
)]
pub(crate) struct Arguments {
    /// Image, by name, digest or the beginning of a digest
    source: String,
    /// Additional name of the image
    target: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let images = context.msb.images();
    let (source, target) = (arguments.source.as_str(), arguments.target.as_str());
    images.tag(source, target).await?;
    Ok(0)
}
