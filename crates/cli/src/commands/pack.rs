use std::sync::Arc;

use msb_sdk::PackedImage;

use super::Context;
use msb_terminal::byte_bar::ByteBar;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};
use msb_terminal::table;

// Arguments of `msb image pack` and `msb image unpack`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Images, by name or digest
    #[arg(required_unless_present = "all", value_name = "IMAGE")]
    images: Vec<String>,
    /// All images in the store
    #[arg(short, long, conflicts_with = "images")]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) async fn pack(context: &Context, arguments: &Arguments) -> Outcome {
    run(context, arguments, true).await
}

pub(crate) async fn unpack(context: &Context, arguments: &Arguments) -> Outcome {
    run(context, arguments, false).await
}

async fn run(context: &Context, arguments: &Arguments, packs: bool) -> Outcome {
    let images = context.msb.images();
    // Without names, all images are meant.
    let names = arguments.images.iter().cloned();
    let (request, label) = if packs {
        (images.pack(names), "packing")
    } else {
        (images.unpack(names), "unpacking")
    };
    let bar = Arc::new(ByteBar::new(label, context.quiet));
    let shown = Arc::clone(&bar);
    let done = request
        .watch(move |step| shown.advance(step.bytes, step.total_bytes))
        .await;
    bar.finish();
    let images = done?;
    match arguments.format {
        Format::Json => output::print_json(&images)?,
        Format::Table => print(&images)?,
    }
    Ok(0)
}

fn print(images: &[PackedImage]) -> std::io::Result<()> {
    let cells = images.iter().map(|image| {
        let name = image.reference.clone();
        [
            name.unwrap_or_else(|| image.digest.clone()),
            image.layers.to_string(),
            image.changed_layers.to_string(),
            output::human_size(image.plain_bytes),
            output::human_size(image.disk_bytes),
        ]
    });
    let header = ["IMAGE", "LAYERS", "CHANGED", "PLAIN", "ON DISK"];
    table::print(header, &cells.collect::<Vec<_>>())
}
