//! The grammar of names, as in the module `github.com/distribution/reference`.

use super::{InvalidReference, REPOSITORY_MAX_BYTES};
use crate::excerpt::excerpt;

const TAG_MAX_BYTES: usize = 128;
const IDENTIFIER_DIGITS: usize = 64;

/// Splits a full name into registry and repository, and checks both. `text` is the input, for
/// errors.
pub(super) fn split_name<'a>(
    text: &str,
    name: &'a str,
) -> Result<(&'a str, &'a str), InvalidReference> {
    let (registry, repository) = name.split_once('/').unwrap_or(("", name));
    let (registry, repository) = if is_host(registry) {
        (registry, repository)
    } else if is_repository(name) {
        // The first part is not a host, so the whole name is a repository without a registry.
        ("", name)
    } else {
        return Err(InvalidReference::Registry {
            text: excerpt(text),
            registry: excerpt(registry),
        });
    };
    if repository.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(InvalidReference::UpperCase {
            text: excerpt(text),
        });
    }
    if !is_repository(repository) {
        return Err(InvalidReference::Repository {
            text: excerpt(text),
            repository: excerpt(repository),
        });
    }
    if repository.len() > REPOSITORY_MAX_BYTES {
        return Err(InvalidReference::TooLong {
            text: excerpt(text),
            bytes: repository.len(),
        });
    }
    Ok((registry, repository))
}

/// Returns true if docker would read `text` as the ID of an image.
pub(super) fn is_identifier(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == IDENTIFIER_DIGITS && text.bytes().all(lower)
}

pub(super) fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= TAG_MAX_BYTES
        && tag.bytes().next().is_some_and(word)
        && tag
            .bytes()
            .all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

fn is_repository(repository: &str) -> bool {
    repository.split('/').all(is_path_component)
}

/// Returns true for runs of lower-case letters and digits, joined by one dot, one or two
/// underscores, or any number of hyphens.
fn is_path_component(component: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separator = |run: &str| matches!(run, "." | "_" | "__") || run.bytes().all(|b| b == b'-');
    let ends = [component.bytes().next(), component.bytes().last()];
    ends.into_iter().all(|end| end.is_some_and(word))
        && component
            .split(|character: char| u8::try_from(character).is_ok_and(word))
            .all(separator)
}

/// Returns true for a domain, an IPv4 address or an IPv6 address in brackets, each with an optional
/// port. The range of numbers is not checked: a port of 750050 fails later, when it is used.
fn is_host(registry: &str) -> bool {
    let (host_is_good, port) = match registry.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else {
                return false;
            };
            let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
            (!address.is_empty() && address.bytes().all(plain), port)
        }
        None => {
            let (host, port) = registry.split_at(registry.find(':').unwrap_or(registry.len()));
            (host.split('.').all(is_host_label), port)
        }
    };
    let digits = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    host_is_good && (port.is_empty() || port.strip_prefix(':').is_some_and(digits))
}

fn is_host_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
