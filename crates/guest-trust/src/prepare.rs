use std::collections::BTreeSet;

use image_store::StoredImage;
use msb_patches::NewContent;
use msb_secrets::{HostPattern, HttpsDestination, Secret};

use crate::accounts::Accounts;
use crate::bundle::bundle;
use crate::image_files::ImageFiles;
use crate::{
    AuthorityFiles, GivenBundle, GivenFile, HostAuthorities, PrepareError, TrustEnvironment,
    TrustFiles,
};

#[cfg(test)]
mod tests;

/// The directory of msb's own files in a sandbox.
const OWN_DIRECTORY: &str = "/etc/msb/";
/// The permission bits of a file that has a placeholder.
const PLACEHOLDER_MODE: u16 = 0o600;

/// The parts that decide what a new sandbox is given.
#[derive(Debug)]
pub struct Request<'a> {
    /// The rules for requests.
    pub requests: &'a [HttpsDestination],
    /// The authorities of the host, if the sandbox trusts them too.
    pub host: Option<&'a HostAuthorities>,
    /// The image's variables, as `NAME=value`.
    pub image_environment: &'a [String],
    /// The names of the variables that the user sets.
    pub variables: BTreeSet<&'a str>,
    /// The user of the commands, as `user[:group]`; root if empty.
    pub user: &'a str,
    /// True if the guest mounts its root read-only.
    pub is_read_only: bool,
    /// The root filesystem.
    pub root: Root<'a>,
}

/// The root filesystem of a new sandbox.
#[derive(Debug, Clone, Copy)]
pub enum Root<'a> {
    /// It is made of an image, whose files can be changed before the first boot.
    New(&'a StoredImage),
    /// It is on a disk that was there before: another sandbox's, or a disk image.
    Existing {
        /// The image; `None` if the root is a disk image.
        image: Option<&'a StoredImage>,
        /// The sandbox that the disk is from; `None` if it is from none.
        source: Option<Source<'a>>,
    },
}

/// A sandbox whose disk another one begins with. The disk may have its placeholders and its certificate.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its secrets.
    pub secrets: &'a [Secret],
    /// Its rules for requests.
    pub requests: &'a [HttpsDestination],
    /// Its files.
    pub trust: &'a TrustFiles,
}

/// The things that a new sandbox is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The files that are written before the first boot.
    pub written: Vec<NewContent>,
    /// The files of the sandbox's directory.
    pub trust: TrustFiles,
    /// The variables of its commands.
    pub environment: TrustEnvironment,
}

/// Makes all that a new sandbox's programs trust, and the placeholders of its secrets, which are added to `secrets`.
/// A placeholder that the source of the sandbox's disk has for a secret of the same name is kept, and so is its
/// authority if that is for the same hosts: files on the disk may hold them. Blocks.
///
/// # Errors
/// If the user sets the variable of a secret, a placeholder's file cannot be made, or there are no certificates.
pub fn prepare(secrets: &mut [Secret], request: &Request<'_>) -> Result<Prepared, PrepareError> {
    check_variables(secrets, &request.variables)?;
    let (image, source) = match request.root {
        Root::New(image) => (Some(image), None),
        Root::Existing { image, source } => (image, source),
    };
    let known = source.map(|source| source.secrets).unwrap_or_default();
    give_placeholders(secrets, known)?;
    let hosts = hosts(secrets, request.requests);
    if hosts.is_empty() && request.host.is_none() {
        return Ok(Prepared::default());
    }
    let is_new = matches!(request.root, Root::New(_));
    if request.is_read_only && !is_new {
        return Err(PrepareError::ReadOnly);
    }
    let authority = authority(&hosts, source)?;
    let image = image.map(ImageFiles::open).transpose()?;
    let of_image = (image.as_ref(), request.image_environment);
    let bundle = bundle(of_image, request.host, authority.as_ref())?;
    let given_bundle = GivenBundle::of(bundle.text.as_bytes());
    let mut files = vec![bundle];
    files.extend(placeholder_files(secrets, request.user, image.as_ref())?);
    let environment = TrustEnvironment::new(secrets, request.host.is_some(), authority.is_some());
    let (written, given) = if is_new {
        (files, Vec::new())
    } else {
        (Vec::new(), files)
    };
    Ok(Prepared {
        written: written.into_iter().map(GivenFile::into_content).collect(),
        trust: TrustFiles {
            authority,
            given,
            bundle: Some(given_bundle),
        },
        environment,
    })
}

/// Checks that the user sets no variable that is a secret's: one of the two would be lost without a word.
fn check_variables(secrets: &[Secret], variables: &BTreeSet<&str>) -> Result<(), PrepareError> {
    let mut in_variables = secrets.iter().filter(|secret| secret.file.is_none());
    match in_variables.find(|secret| variables.contains(secret.name.as_str())) {
        Some(secret) => Err(PrepareError::Variable {
            name: secret.name.to_string(),
        }),
        None => Ok(()),
    }
}

/// Gives each secret the placeholder that the source has for it, or else a new one unless it has one.
fn give_placeholders(secrets: &mut [Secret], source: &[Secret]) -> Result<(), PrepareError> {
    for secret in secrets {
        let same = source
            .iter()
            .find(|other| other.name == secret.name && other.prefix == secret.prefix);
        if let Some(known) = same.and_then(|same| same.placeholder.clone()) {
            secret.placeholder = Some(known);
        } else {
            secret.draw_placeholder()?;
        }
    }
    Ok(())
}

/// Returns the hosts whose TLS the sandbox's network ends, each once.
fn hosts(secrets: &[Secret], requests: &[HttpsDestination]) -> BTreeSet<HostPattern> {
    let destinations = secrets.iter().flat_map(|secret| &secret.to).chain(requests);
    destinations
        .map(|destination| destination.host.clone())
        .collect()
}

/// Returns the source's authority if it is for these hosts, and else a new one; `None` without hosts.
fn authority(
    hosts: &BTreeSet<HostPattern>,
    source: Option<Source<'_>>,
) -> Result<Option<AuthorityFiles>, PrepareError> {
    if hosts.is_empty() {
        return Ok(None);
    }
    let same = source.filter(|source| self::hosts(source.secrets, source.requests) == *hosts);
    if let Some(known) = same.and_then(|same| same.trust.authority.clone()) {
        return Ok(Some(known));
    }
    let hosts: Vec<HostPattern> = hosts.iter().cloned().collect();
    Ok(Some(AuthorityFiles::create(&hosts)?))
}

/// Returns the files of the placeholders that are not in variables, which belong to the user of the commands.
fn placeholder_files(
    secrets: &[Secret],
    user: &str,
    image: Option<&ImageFiles>,
) -> Result<Vec<GivenFile>, PrepareError> {
    let mut files = Vec::new();
    let mut owner = None;
    for secret in secrets {
        let (Some(path), Some(placeholder)) = (&secret.file, &secret.placeholder) else {
            continue;
        };
        if !is_path_of_file(path) {
            return Err(PrepareError::Path {
                name: secret.name.to_string(),
                path: path.clone(),
            });
        }
        let (uid, gid) = match owner {
            Some(owner) => owner,
            None => *owner.insert(find_owner(user, image)?),
        };
        files.push(GivenFile {
            path: path.clone(),
            mode: PLACEHOLDER_MODE,
            uid,
            gid,
            text: placeholder.to_string(),
        });
    }
    Ok(files)
}

/// Returns true if an absolute path ends with a name, and is not one of msb's own.
fn is_path_of_file(path: &str) -> bool {
    let mut names = path.split('/').skip(1).peekable();
    let has_names = names.peek().is_some() && names.all(|name| !matches!(name, "" | "." | ".."));
    path.starts_with('/') && has_names && !path.contains('\0') && !path.starts_with(OWN_DIRECTORY)
}

fn find_owner(user: &str, image: Option<&ImageFiles>) -> Result<(u32, u32), PrepareError> {
    let Some(image) = image else {
        // The users of a disk image are on a filesystem that only its guest reads.
        let owner = Accounts::default().owner(user);
        return owner.map_err(|_| PrepareError::UserOfDisk {
            user: user.to_owned(),
        });
    };
    Accounts::read(image)?.owner(user)
}
