//! The things that a sandbox's programs trust and find in the place of secrets: authorities, variables, placeholders.
//!
//! A sandbox with secrets, or with rules for requests, has its own certificate authority. The key stays in the
//! sandbox's directory on the host ([`AuthorityFiles`]); the certificate is the last one of a bundle in the guest,
//! [`BUNDLE`], after those of its image, or else of the host, and with `--host-ca` those of the host. Environment
//! variables lead programs to the bundle. The placeholder of each secret is a variable, or a file.
//!
//! [`prepare`] makes all of it for a new sandbox. An image's files are changed before the first boot. Where a disk was
//! there before the sandbox, the guest's agent writes the files at each start instead ([`TrustFiles::given`]).

#![forbid(unsafe_code)]

mod accounts;
mod authority_files;
mod bundle;
mod certificates;
mod environment;
mod error;
mod given_bundle;
mod given_file;
mod host_authorities;
mod image_files;
mod prepare;
mod trust_files;

pub use authority_files::{AuthorityFiles, CERTIFICATE, KEY};
pub use bundle::BUNDLE;
pub use environment::{TrustEnvironment, without_placeholders};
pub use error::PrepareError;
pub use given_bundle::GivenBundle;
pub use given_file::GivenFile;
pub use host_authorities::{HostAuthorities, NoAuthorities};
pub use image_files::ImageFilesError;
pub use prepare::{Prepared, Request, Root, Source, prepare};
pub use trust_files::{GIVEN, GIVEN_BUNDLE, TrustFiles};
