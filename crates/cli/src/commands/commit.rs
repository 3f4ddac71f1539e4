use msb_sdk::CommitOptions;

use super::Context;
use super::patterns::{Patterns, patterns_help};
use super::snapshot::split;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb commit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = concat!("The new image is a child of the sandbox's image: it has all layers of \
    that image, and one more with the files that the sandbox added, changed and deleted. A second \
    commit of the same sandbox is a child of the first new image, and its layer has only the \
    changes since then. Mounts are not included; staged directories are named in a notice. msb prints the digest of the new image.\n\n\
    --change accepts CMD, ENTRYPOINT, ENV, EXPOSE, LABEL, USER, VOLUME, WORKDIR and STOPSIGNAL, in \
    the syntax of a Dockerfile. The options of msb create are not stored in the image.\n\n\
    If SOURCE_DATE_EPOCH is set, it is the creation time, and it replaces later modification times \
    of files, so that the same changes produce the same image.\n\n\
    A running sandbox keeps running: its disk is frozen while msb takes its state, for at most \
    1 s, and writes by its programs wait until then. With --pause=false a running sandbox is \
    refused. The image of a snapshot is a child of the sandbox's own image.\n\n",
    patterns_help!(),
    "Examples:\n  \
    msb commit work tools:1\n  \
    msb commit -m 'with the tools' -c 'CMD [\"python3\"]' -c 'ENV PATH=$PATH:/opt/bin' work tools:2\n  \
    msb commit --exclude /root/.cache --exclude '*.pyc' work tools:3")
)]
pub(crate) struct Arguments {
    /// Comment on the image
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Author of the image, such as "Name <mail@example.org>"
    #[arg(short, long, value_name = "AUTHOR")]
    author: Option<String>,
    /// Instruction of a Dockerfile to apply to the image, such as "ENV A=1"; can be given several times
    #[arg(short, long, value_name = "INSTRUCTION")]
    change: Vec<String>,
    #[command(flatten)]
    patterns: Patterns,
    /// Time of creation in seconds since the epoch [default: now]
    #[arg(
        long,
        env = "SOURCE_DATE_EPOCH",
        hide = true,
        allow_negative_numbers = true
    )]
    source_date_epoch: Option<i64>,
    /// Freeze the disk of a running sandbox while it is cut; with false, refuse a running sandbox
    #[arg(
        short,
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pause: bool,
    /// Name or id of a sandbox, and the name of a snapshot
    #[arg(value_name = "SANDBOX[@SNAPSHOT]")]
    sandbox: String,
    /// Name for the image; an existing name is reassigned
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let (sandbox, snapshot) = split(&arguments.sandbox);
    let sandbox = context.handle(sandbox).await?;
    let mut options = CommitOptions::default();
    options.snapshot = snapshot.map(str::to_owned);
    options.message.clone_from(&arguments.message);
    options.author.clone_from(&arguments.author);
    options.changes.clone_from(&arguments.change);
    options.source_date_epoch = arguments.source_date_epoch;
    options.pause = arguments.pause;
    options.exclude = arguments.patterns.exclude();
    options.include = arguments.patterns.include();
    let image = sandbox.commit(&arguments.name, options).await?;
    if !context.quiet {
        for note in &image.notes {
            output::notice(note);
        }
        let kept = u64::try_from(image.notes.len()).unwrap_or(u64::MAX);
        let more = image.notes_total.saturating_sub(kept);
        if more > 0 {
            output::notice(&format!("{more} more files and attributes are left out"));
        }
    }
    output::print(&format!("{}\n", image.digest))?;
    Ok(0)
}
