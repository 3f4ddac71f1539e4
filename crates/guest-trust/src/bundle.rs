use crate::certificates::Certificates;
use crate::error::PrepareError;
use crate::given_file::GivenFile;
use crate::image_files::{ImageFiles, ImageFilesError};
use crate::{AuthorityFiles, HostAuthorities};

/// The path in a sandbox of the certificates that its programs trust.
/// It is on the sandbox's own disk: no image has a file there, and no mount hides it.
pub const BUNDLE: &str = "/etc/msb/ca.pem";
/// The bundles of distributions: Debian's, Alpine's and Arch's; Fedora's; a name that several have.
const OF_DISTRIBUTIONS: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];
/// The longest bundle of an image that is read, in bytes. Debian's has 220 KB.
const IMAGE_BUNDLE_MAX_BYTES: u64 = 4 << 20;

/// Returns the bundle of a sandbox: the image's own certificates, or else the host's; those of `host`; and that of
/// the sandbox's authority. `environment` is the image's, as `NAME=value`.
pub(crate) fn bundle(
    (image, environment): (Option<&ImageFiles>, &[String]),
    host: Option<&HostAuthorities>,
    own: Option<&AuthorityFiles>,
) -> Result<GivenFile, PrepareError> {
    let mut all = match image {
        Some(image) => of_image(image, environment)?,
        None => Certificates::default(),
    };
    let lacks_any = all.is_empty() && host.is_none();
    let loaded = lacks_any.then(HostAuthorities::load).transpose()?;
    for authorities in host.into_iter().chain(&loaded) {
        all.add_all(authorities.certificates());
    }
    if let Some(own) = own {
        all.add_pem(own.certificate().as_bytes());
    }
    Ok(GivenFile {
        path: BUNDLE.to_owned(),
        mode: 0o644,
        uid: 0,
        gid: 0,
        text: all.pem(),
    })
}

/// Returns the certificates of the first bundle of an image that has any.
fn of_image(image: &ImageFiles, environment: &[String]) -> Result<Certificates, ImageFilesError> {
    let named = environment.iter();
    let named = named.filter_map(|setting| setting.strip_prefix("SSL_CERT_FILE="));
    // A bundle of msb's own is that of the sandbox which the image was made of.
    let named = named.filter(|path| path.starts_with('/') && *path != BUNDLE);
    let mut found = Certificates::default();
    for path in named.chain(OF_DISTRIBUTIONS) {
        if let Some(text) = image.read(path, IMAGE_BUNDLE_MAX_BYTES)? {
            found.add_pem(&text);
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}
