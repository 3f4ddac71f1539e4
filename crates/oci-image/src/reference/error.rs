use super::REPOSITORY_MAX_BYTES;
use crate::digest::InvalidDigest;

/// An error for a text that is not the name of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// The text is 64 hexadecimal digits, which docker reserves for the IDs of images.
    #[error(
        "invalid image name '{text}': 64 hexadecimal digits are a digest; write sha256: before them"
    )]
    Identifier {
        /// The text, shortened and escaped.
        text: String,
    },
    /// The repository contains an upper-case letter.
    #[error("invalid image name '{text}': a repository's name must be lower case")]
    UpperCase {
        /// The text, shortened and escaped.
        text: String,
    },
    /// The part before the first slash is not a host.
    #[error("invalid image name '{text}': '{registry}' is not a registry's host and port")]
    Registry {
        /// The text, shortened and escaped.
        text: String,
        /// Part that should be a host.
        registry: String,
    },
    /// The repository does not follow the grammar.
    #[error("invalid image name '{text}': '{repository}' is not a repository's name")]
    Repository {
        /// The text, shortened and escaped.
        text: String,
        /// Part that should be a repository.
        repository: String,
    },
    /// The tag does not follow the grammar.
    #[error("invalid image name '{text}': '{tag}' is not a tag")]
    Tag {
        /// The text, shortened and escaped.
        text: String,
        /// Part that should be a tag.
        tag: String,
    },
    /// The repository is longer than 255 bytes.
    #[error(
        "invalid image name '{text}': its repository has {bytes} bytes, the limit is {REPOSITORY_MAX_BYTES}"
    )]
    TooLong {
        /// The text, shortened and escaped.
        text: String,
        /// Length of the repository, in bytes.
        bytes: usize,
    },
    /// The part after the `@` is not a digest.
    #[error("invalid image name '{text}'")]
    Digest {
        /// The text, shortened and escaped.
        text: String,
        /// Cause reported by the digest's parser.
        #[source]
        source: InvalidDigest,
    },
}
