use std::path::PathBuf;

use msb_sdk::LoginOptions;

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output;
use msb_terminal::password::{self, Echo};

// Arguments of `msb login`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The registry checks the password before msb stores it where docker does: in the \
    credential helper that docker's config.json ($DOCKER_CONFIG, ~/.docker) names, or else in that \
    file, unencrypted and readable only by you. docker, podman and skopeo use it too. msb pull, \
    run and push read it.\n\n\
    No option takes the password, because other users of this host can see a command's arguments, \
    and the shell's history keeps them. Registries with two-factor authentication require an \
    access token instead of the password.\n\n\
    Examples:\n  \
    msb login                                      Docker Hub; asks for user name and password\n  \
    msb login -u me ghcr.io\n  \
    pass show ghcr | msb login -u me --password-stdin ghcr.io"
)]
pub(crate) struct Arguments {
    /// User name
    #[arg(short, long, value_name = "USER")]
    username: Option<String>,
    /// Read the password from standard input
    #[arg(long, requires = "username")]
    password_stdin: bool,
    /// Connect to the registry over HTTP, without TLS
    #[arg(long, conflicts_with = "tls_ca")]
    plain_http: bool,
    /// PEM file of additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Registry, as in image names [default: docker.io]
    registry: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = LoginOptions::default();
    options.registry.clone_from(&arguments.registry);
    options.plain_http = arguments.plain_http;
    options.tls_ca.clone_from(&arguments.tls_ca);
    options.username = match &arguments.username {
        Some(name) => name.clone(),
        None => password::ask(&context.interrupts, "Username: ", Echo::Shown).await?,
    };
    options.password = if arguments.password_stdin {
        password::from_stdin()?
    } else {
        password::ask(&context.interrupts, "Password: ", Echo::Hidden).await?
    };
    let logged_in = context.msb.images().login(options).await?;
    if !context.quiet {
        if !logged_in.is_checked {
            let registry = &logged_in.registry;
            output::notice(&format!(
                "{registry} asked for no password, so it was not checked"
            ));
        }
        if let Some(file) = &logged_in.file {
            let file = file.display();
            output::notice(&format!(
                "the password is kept unencrypted in {file}; a credential helper would encrypt it"
            ));
        }
    }
    output::print("Login Succeeded\n")?;
    Ok(0)
}
