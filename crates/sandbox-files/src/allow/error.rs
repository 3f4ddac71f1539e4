use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_agent_protocol::ClientError;
use msb_runtime::{CreateError, MountError, TooManyRules, UpdateError};
use path_rules::InvalidPattern;
use staged_image::StoreError;

use crate::FilesError;

/// A rule of a directory of the host cannot be changed, or its files cannot be let in.
#[derive(Debug, thiserror::Error)]
pub enum AllowError {
    /// The path is in no directory of the host that is staged or shared.
    #[error(
        "'{}' is in no staged or shared directory of sandbox {name}{}",
        .path.escape_ascii(),
        listed(targets)
    )]
    Outside {
        /// The sandbox's name.
        name: String,
        /// The path that was given.
        path: Vec<u8>,
        /// The paths in the sandbox of its staged and shared directories.
        targets: Vec<String>,
    },
    /// The path is in a shared directory that has no rules.
    #[error("the shared directory {target} of sandbox {name} has no rules")]
    Unruled {
        /// The sandbox's name.
        name: String,
        /// The directory's path in the sandbox.
        target: String,
    },
    /// The path has characters that stand for others in rules.
    #[error(
        "'{}' has characters that stand for others in rules, and one path is needed",
        .path.escape_ascii()
    )]
    Wildcard {
        /// The path that was given.
        path: Vec<u8>,
    },
    /// The path cannot be one of a rule.
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    /// There are too many rules.
    #[error(transparent)]
    Rules(#[from] TooManyRules),
    /// The rules cannot be read.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// More files would be let in than can be at a time.
    #[error("more than {limit} files would be let in, which is the limit")]
    TooMany {
        /// The limit of one rule.
        limit: usize,
    },
    /// The files of the host cannot be listed.
    #[error(transparent)]
    List(#[from] Box<CreateError>),
    /// A file of the host cannot be read, or its copy cannot be kept.
    #[error(transparent)]
    Read(#[from] StoreError),
    /// The image of the staged directories cannot be opened.
    #[error("cannot open the image of the staged directories")]
    Image(#[source] io::Error),
    /// The image of the staged directories cannot be read.
    #[error("cannot read the image of the staged directories")]
    View(#[from] rootfs_view::OpenError),
    /// The sandbox does not take the files.
    #[error("cannot copy the files into the sandbox")]
    Files(#[from] FilesError),
    /// The process that serves a shared directory does not follow the rule.
    #[error("the running sandbox does not take the rule")]
    Share(#[source] ClientError),
    /// The rule cannot be kept.
    #[error(transparent)]
    Update(#[from] UpdateError),
}

fn listed(targets: &[String]) -> String {
    match targets {
        [] => ", which has none".to_owned(),
        targets => format!("; it has {}", targets.join(", ")),
    }
}

impl Diagnose for AllowError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Outside { name, path, .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", name)
                .detail("path", String::from_utf8_lossy(path).into_owned()),
            Self::Unruled { name, target } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", name)
                .detail("path", target)
                .hint("give it rules when you create the sandbox: --rule PATH=STATE"),
            Self::Share(source) => source.diagnosis(),
            Self::Wildcard { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::TooMany { limit } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("limit", *limit)
                .hint("stop the sandbox, change the rule, and let msb restage stage the files"),
            Self::Pattern(source) => source.diagnosis(),
            Self::Rules(source) => source.diagnosis(),
            Self::Mount(source) => source.diagnosis(),
            Self::List(source) => source.diagnosis(),
            Self::Read(source) => source.diagnosis(),
            Self::Image(source) => source.diagnosis(),
            Self::View(source) => Diagnosis::of_foreign(source),
            Self::Files(source) => source.diagnosis(),
            Self::Update(source) => source.diagnosis(),
        }
    }
}
