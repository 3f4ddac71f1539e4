use super::{Context, container_prune, prune, volume};
use msb_terminal::confirm::confirmed;
use msb_terminal::failure::Outcome;

// Arguments of `msb system prune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Combines msb container prune, msb prune and, with --volumes, msb volume prune. Asks first \
    unless --force is given.\n\n\
    Examples:\n  \
    msb system prune\n  \
    msb system prune --all --volumes --force"
)]
pub(crate) struct Arguments {
    /// Remove every image that no sandbox uses, not only those without a name
    #[arg(short, long)]
    all: bool,
    /// Also remove volumes that no sandbox uses
    #[arg(long)]
    volumes: bool,
    /// Remove without asking
    #[arg(short, long)]
    force: bool,
}

impl Arguments {
    fn consequence(&self) -> String {
        let images = if self.all {
            "every image that no other sandbox uses"
        } else {
            "images without a name"
        };
        let volumes = if self.volumes {
            ", volumes that no other sandbox has"
        } else {
            ""
        };
        format!(
            "This removes every sandbox that is not running, {images}{volumes}, and the leftovers \
             of killed processes."
        )
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if !arguments.force && !confirmed(&arguments.consequence())? {
        return Ok(0);
    }
    let sandboxes = container_prune::not_running(context, &[]).await?;
    let mut code = container_prune::remove(context, sandboxes).await?;
    if arguments.volumes {
        let (unused, failures) = volume::unused(context).await?;
        code = code.max(failures.code);
        code = code.max(volume::remove_unused(context, unused).await?);
    }
    let images = prune::Arguments::with_all(arguments.all);
    Ok(code.max(prune::run(context, &images).await?))
}
