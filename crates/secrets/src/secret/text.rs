//! A secret as an argument of `--secret`.

use std::fmt;
use std::str::FromStr;

use super::{InvalidSecret, Secret};
use crate::destination::HttpsDestination;
use crate::interval;
use crate::method::is_method_list;
use crate::name::SecretName;
use crate::placement::Placement;
use crate::source::SecretSource;

/// Longest argument, in bytes: sixteen destinations with long paths, and a command.
const TEXT_MAX_BYTES: usize = 64 << 10;

/// The keys of the long form, in the order in which they are written.
const KEYS: [&str; 7] = ["name", "to", "every", "in", "as", "file", "from"];

/// Parses `NAME@HOST,HOST` and `name=NAME,to=HOST,from=SOURCE,every=TIME,in=PLACE,as=PREFIX,file=PATH`.
///
/// A comma begins the next part if one of the keys and `=` follow it, and else belongs to the part: to the
/// methods of `to=`, or to the command of `from=cmd:`.
impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        if text.len() > TEXT_MAX_BYTES {
            return Err(InvalidSecret::Form);
        }
        let secret = match key_of(text) {
            Some((key, _)) if known(key).is_some() => long(text)?,
            Some(("value", _)) => return Err(InvalidSecret::Literal),
            Some((key, rest)) if has_known_key(rest) => return Err(unknown(key)),
            _ => short(text)?,
        };
        secret.check()?;
        Ok(secret)
    }
}

/// Splits a key of lower-case letters from its value.
fn key_of(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    is_key.then_some((key, value))
}

/// Returns true if the text is of the long form behind its first part.
fn has_known_key(rest: &str) -> bool {
    let parts = rest.split(',').skip(1);
    parts
        .filter_map(key_of)
        .any(|(key, _)| known(key).is_some())
}

fn short(text: &str) -> Result<Secret, InvalidSecret> {
    let (name, hosts) = text.split_once('@').ok_or_else(|| {
        if text.contains('=') {
            InvalidSecret::Literal
        } else {
            InvalidSecret::Form
        }
    })?;
    if name.contains('=') {
        return Err(InvalidSecret::Literal);
    }
    let mut to: Vec<HttpsDestination> = Vec::new();
    for host in destinations(hosts) {
        to.push(host.parse()?);
    }
    Ok(Secret::new(name.parse()?, to))
}

/// Splits a list of destinations. A method behind a comma belongs to the destination before it.
fn destinations(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split(',') {
        let is_method = is_method_list(part) && all.last().is_some_and(|last| has_methods(last));
        match all.last_mut() {
            Some(last) if is_method => {
                last.push(',');
                last.push_str(part);
            }
            _ => all.push(part.to_owned()),
        }
    }
    all
}

fn has_methods(destination: &str) -> bool {
    destination
        .rsplit_once(':')
        .is_some_and(|(_, methods)| is_method_list(methods))
}

/// The parts of the long form.
#[derive(Default)]
struct Parts {
    name: Option<SecretName>,
    to: Vec<HttpsDestination>,
    from: Option<SecretSource>,
    every_s: Option<u64>,
    placement: Option<Placement>,
    prefix: Option<String>,
    file: Option<String>,
}

fn long(text: &str) -> Result<Secret, InvalidSecret> {
    let mut parts = Parts::default();
    for (key, value) in split(text)? {
        parts.set(key, &value)?;
    }
    let name = parts.name.ok_or(InvalidSecret::Form)?;
    let mut secret = Secret::new(name, parts.to);
    secret.from = parts.from.unwrap_or(secret.from);
    secret.every_s = parts.every_s;
    secret.placement = parts.placement.unwrap_or_default();
    secret.prefix = parts.prefix;
    secret.file = parts.file;
    Ok(secret)
}

/// Splits the long form at the commas that known keys follow.
fn split(text: &str) -> Result<Vec<(&'static str, String)>, InvalidSecret> {
    let mut parts: Vec<(&'static str, String)> = Vec::new();
    for part in text.split(',') {
        let found = key_of(part);
        if let Some((key, value)) = found.and_then(|(key, value)| Some((known(key)?, value))) {
            parts.push((key, value.to_owned()));
            continue;
        }
        let (key, last) = parts.last_mut().ok_or(InvalidSecret::Form)?;
        let is_command = *key == "from" && last.starts_with("cmd:");
        match found {
            Some(("value", _)) => return Err(InvalidSecret::Literal),
            Some((key, _)) if !is_command => return Err(unknown(key)),
            // Parts of other keys have no commas, and what follows one could be a value.
            _ if !is_command && *key != "to" => return Err(InvalidSecret::Form),
            _ => {
                last.push(',');
                last.push_str(part);
            }
        }
    }
    Ok(parts)
}

fn known(key: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|known| *known == key)
}

fn unknown(key: &str) -> InvalidSecret {
    InvalidSecret::Key {
        key: key.to_owned(),
    }
}

impl Parts {
    fn set(&mut self, key: &'static str, value: &str) -> Result<(), InvalidSecret> {
        match key {
            "name" => once(&mut self.name, key, value.parse()?),
            "to" => {
                for destination in destinations(value) {
                    self.to.push(destination.parse()?);
                }
                Ok(())
            }
            "from" => match value.parse::<SecretSource>()? {
                SecretSource::Given => Err(InvalidSecret::GivenInText),
                source => once(&mut self.from, key, source),
            },
            "every" => once(&mut self.every_s, key, interval::parse(value)?),
            "in" => once(&mut self.placement, key, value.parse()?),
            "as" => once(&mut self.prefix, key, value.to_owned()),
            "file" => once(&mut self.file, key, value.to_owned()),
            other => Err(unknown(other)),
        }
    }
}

fn once<T>(field: &mut Option<T>, key: &'static str, value: T) -> Result<(), InvalidSecret> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(InvalidSecret::Repeated { key }),
    }
}

/// Writes the long form, without the placeholder and the value.
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name={}", self.name)?;
        for destination in &self.to {
            write!(f, ",to={destination}")?;
        }
        if let Some(every_s) = self.every_s {
            write!(f, ",every={}", interval::text(every_s))?;
        }
        if !self.placement.is_default() {
            write!(f, ",in={}", self.placement)?;
        }
        if let Some(prefix) = &self.prefix {
            write!(f, ",as={prefix}")?;
        }
        if let Some(file) = &self.file {
            write!(f, ",file={file}")?;
        }
        write!(f, ",from={}", self.from)
    }
}
