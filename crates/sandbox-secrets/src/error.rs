use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use msb_runtime::UpdateError;
use msb_secrets::ResolveError;

use crate::control::ControlFailure;

/// A failed operation on the secrets of a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The sandbox has no secret of this name.
    #[error("sandbox {sandbox} has no secret {secret}")]
    Missing {
        /// The sandbox's name.
        sandbox: String,
        /// The name that was asked for.
        secret: String,
    },
    /// The sandbox is not running, so no process could keep the value.
    #[error(
        "sandbox {sandbox} is not running: the value of {secret} is kept only while it runs, and is read from its \
         source at each start"
    )]
    NotRunning {
        /// The sandbox's name.
        sandbox: String,
        /// The secret's name.
        secret: String,
    },
    /// The path of a file is relative, and this process has no current directory.
    #[error("cannot find the current directory")]
    CurrentDirectory(#[source] io::Error),
    /// The source would change while it is read again at intervals.
    #[error(
        "the source of the secret {secret} is read again while sandbox {sandbox} runs, and cannot change meanwhile"
    )]
    Refreshed {
        /// The sandbox's name.
        sandbox: String,
        /// The secret's name.
        secret: String,
    },
    /// The value of a secret cannot be read.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The network process did not do what was asked for.
    #[error(transparent)]
    Control(#[from] ControlFailure),
    /// The change cannot be written to the sandbox's description.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The sandbox's description or state cannot be read.
    #[error("cannot read sandbox {sandbox}")]
    Unreadable {
        /// The sandbox's name, or its directory.
        sandbox: String,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for SecretsError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Missing { sandbox, secret } => Diagnosis::new(ErrorKind::NotFound)
                .detail("name", secret)
                .hint(list_secrets(sandbox)),
            Self::NotRunning { sandbox, secret } => Diagnosis::new(ErrorKind::NotRunning)
                .detail("name", sandbox)
                .hint(change_source(sandbox, secret)),
            Self::Refreshed { sandbox, secret } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", sandbox)
                .detail("secret", secret)
                .hint(Hint::stop(sandbox)),
            Self::Resolve(source) => source.diagnosis(),
            Self::Control(source) => source.diagnosis(),
            Self::Update(source) => source.diagnosis(),
            Self::CurrentDirectory(source) | Self::Unreadable { source, .. } => source.diagnosis(),
        }
    }
}

fn list_secrets(sandbox: &str) -> Hint {
    let python = "list them with secrets.list()";
    Hint::worded(
        format!("list them with msb secret ls {sandbox}"),
        ["list them with secrets().list()", python, python],
    )
}

fn change_source(sandbox: &str, secret: &str) -> Hint {
    Hint::worded(
        format!(
            "change the source for the next start with msb secret set {sandbox} {secret} --from SOURCE"
        ),
        [
            "change the source for the next start with secrets().set_from()",
            "change the source for the next start with secrets.set(name, env=...)",
            "change the source for the next start with secrets.set(name, { env: ... })",
        ],
    )
}

#[cfg(test)]
mod tests {
    use diagnosis::Face;

    use super::*;

    #[test]
    fn an_error_names_the_sandbox_the_secret_and_the_remedy() {
        let missing = SecretsError::Missing {
            sandbox: "box".to_owned(),
            secret: "K".to_owned(),
        };
        assert_eq!(missing.to_string(), "sandbox box has no secret K");
        let diagnosis = missing.diagnosis();
        assert_eq!(diagnosis.kind(), ErrorKind::NotFound);
        assert_eq!(
            diagnosis.advice().as_deref(),
            Some("list them with msb secret ls box")
        );
        let stopped = SecretsError::NotRunning {
            sandbox: "box".to_owned(),
            secret: "K".to_owned(),
        };
        let diagnosis = stopped.diagnosis();
        assert_eq!(diagnosis.kind(), ErrorKind::NotRunning);
        for face in [Face::Rust, Face::Python, Face::TypeScript] {
            let words: Vec<_> = diagnosis
                .hints()
                .iter()
                .map(|hint| hint.words(face))
                .collect();
            assert!(
                words.iter().all(|words| !words.contains("msb ")),
                "{words:?}"
            );
        }
    }
}
