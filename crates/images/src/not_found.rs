use msb_client::{Error, ErrorKind};

/// Returns the error of a name that the store does not have, for an operation that a pull does not help:
/// to remove an image, to give it a name, or to push it.
pub(crate) fn without_pull(error: impl Into<Error>) -> Error {
    let error = error.into();
    if error.kind() == ErrorKind::ImageNotFound {
        return error.with_only_hint("list the images in the store with msb images");
    }
    error
}
