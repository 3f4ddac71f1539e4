use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::PlaceholderError;
use msb_tls_edge::AuthorityError;

use crate::{ImageFilesError, NoAuthorities};

/// A new sandbox's programs cannot be given what they trust, or the placeholders of its secrets.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The user sets the variable of a secret.
    #[error(
        "the environment variable {name} is set twice: to a value that was given, and to the placeholder of the \
         secret {name}"
    )]
    Variable {
        /// The variable's name, which is the secret's.
        name: String,
    },
    /// The path of a placeholder's file is not that of a file in a directory.
    #[error(
        "the file of the secret {name} has the path '{path}'; write an absolute path of a file, outside /etc/msb"
    )]
    Path {
        /// The secret's name.
        name: String,
        /// The path that was given.
        path: String,
    },
    /// The file of a placeholder is to belong to a user that the image does not have.
    #[error("the image has no user '{user}', to whom the file of a secret is to belong")]
    NoUser {
        /// The user that was given.
        user: String,
    },
    /// The file of a placeholder is to belong to a user of a disk image, by name.
    #[error(
        "the file of a secret is to belong to the user '{user}' of a disk image, whose users are not known before the \
         boot; write the user's number"
    )]
    UserOfDisk {
        /// The user that was given.
        user: String,
    },
    /// The root is read-only and was there before the sandbox.
    #[error(
        "nothing can be written to the sandbox's root, which is read-only and begins with another disk: its programs \
         would not find the certificates that they are to trust"
    )]
    ReadOnly,
    /// The image's files cannot be read.
    #[error(transparent)]
    Image(#[from] ImageFilesError),
    /// Neither the image nor the host has certificates.
    #[error(transparent)]
    Host(#[from] NoAuthorities),
    /// The sandbox's authority cannot be made.
    #[error("cannot make the sandbox's certificate authority")]
    Authority(#[from] AuthorityError),
    /// The placeholder of a secret cannot be made.
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
}

impl Diagnose for PrepareError {
    fn diagnosis(&self) -> Diagnosis {
        let refused = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::Variable { name } => refused.detail("name", name).hint(
                "leave the variable out, or have the placeholder written to a file with file=PATH",
            ),
            Self::Path { path, .. } => refused.detail("path", path),
            Self::NoUser { user } | Self::UserOfDisk { user } => refused.detail("user", user),
            Self::ReadOnly => refused.hint("leave out --read-only, or begin with an image"),
            Self::Image(source) => source.diagnosis(),
            Self::Host(source) => Diagnosis::of_foreign(source).or_kind(ErrorKind::InvalidArgument),
            Self::Authority(source) => source.diagnosis(),
            Self::Placeholder(source) => source.diagnosis(),
        }
    }
}
