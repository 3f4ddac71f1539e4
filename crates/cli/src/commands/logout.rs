use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb logout`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The password is removed from docker's config.json and its credential helper, so \
    docker, podman and skopeo can no longer use it either.\n\n\
    Examples:\n  \
    msb logout              Docker Hub\n  \
    msb logout ghcr.io"
)]
pub(crate) struct Arguments {
    /// Registry, as in image names [default: docker.io]
    registry: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let registry = arguments.registry.clone();
    let logged_out = context.msb.images().logout(registry).await?;
    let registry = logged_out.registry;
    output::print(&if logged_out.was_logged_in {
        format!("Removed login credentials for {registry}\n")
    } else {
        format!("Not logged in to {registry}\n")
    })?;
    Ok(0)
}
