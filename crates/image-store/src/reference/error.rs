use super::REPOSITORY_MAX_BYTES;
use crate::digest::InvalidDigest;

/// Why a text is not an image's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// 64 hexadecimal digits, which docker keeps for the IDs of images.
    #[error("invalid image name '{text}': 64 hexadecimal digits are a digest: put sha256: before")]
    Identifier {
        /// What was given, cut and escaped.
        text: String,
    },
    /// Repository names are lower case.
    #[error("invalid image name '{text}': a repository's name must be lower case")]
    UpperCase {
        /// What was given, cut and escaped.
        text: String,
    },
    /// The part before the first slash is no host.
    #[error("invalid image name '{text}': '{registry}' is not a registry's host and port")]
    Registry {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a host.
        registry: String,
    },
    /// The repository does not follow the grammar.
    #[error("invalid image name '{text}': '{repository}' is not a repository's name")]
    Repository {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a repository.
        repository: String,
    },
    /// The tag does not follow the grammar.
    #[error("invalid image name '{text}': '{tag}' is not a tag")]
    Tag {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a tag.
        tag: String,
    },
    /// More than 255 bytes of repository.
    #[error(
        "invalid image name '{text}': its repository has {bytes} bytes, the limit is {REPOSITORY_MAX_BYTES}"
    )]
    TooLong {
        /// What was given, cut and escaped.
        text: String,
        /// How long it is.
        bytes: usize,
    },
    /// What follows the `@` is no digest.
    #[error("invalid image name '{text}'")]
    Digest {
        /// What was given, cut and escaped.
        text: String,
        /// What is wrong with it.
        #[source]
        source: InvalidDigest,
    },
}
