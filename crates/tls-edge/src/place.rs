//! The placeholder of a request, replaced by the value where it is a whole credential, and nowhere else.
//!
//! Nothing here waits, reads or writes: [`Destination::wanted`] tells whose values a request needs, and
//! [`Destination::place`] puts them in.

mod basic;
mod query;

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use memchr::memmem;
use msb_secrets::{Placement, SecretName};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::event::shortened;
use crate::settings::{Destination, PlacedSecret};
use crate::values::HeldValue;

/// The headers that hold a credential and nothing else.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "private-token",
    "x-auth-token",
];

/// The longest name of a header in a record.
const PLACE_MAX: usize = 64;

/// The result of a placement.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// The values that are in the request now, each once.
    pub(crate) values: Vec<Arc<HeldValue>>,
    /// The placeholders that stay in the request.
    pub(crate) misplaced: Vec<Misplaced>,
}

impl Placed {
    /// Returns the names of the secrets whose values are in the request.
    pub(crate) fn secrets(&self) -> Vec<SecretName> {
        self.values.iter().map(|value| value.name.clone()).collect()
    }
}

/// A placeholder that is not replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misplaced {
    /// The name of the secret.
    pub(crate) secret: SecretName,
    /// The name of the header, `path` or `query`; `request` if the secret is not for this request.
    pub(crate) place: String,
}

/// A reason why a request cannot be sent. A part of its values may be in it, so it has to be dropped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NotPlaced {
    /// The value is not among those that were given.
    #[error("secret {name} has no value")]
    NoValue {
        /// The name of the secret.
        name: SecretName,
    },
    /// The value cannot be written in this place.
    #[error("the value of secret {name} cannot be written in {place}")]
    Unfit {
        /// The name of the secret.
        name: SecretName,
        /// The place.
        place: &'static str,
    },
}

/// A place of a request that holds a placeholder and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot<'a> {
    /// The end of a header's only value, after a number of bytes that name the scheme.
    Header { name: &'a str, before: usize },
    /// The user of `Authorization: Basic`.
    User,
    /// The password of `Authorization: Basic`.
    Password,
    /// The value of a parameter of the query.
    Query { name: &'a str },
}

impl Destination {
    /// Returns the secrets whose values a request needs.
    pub(crate) fn wanted(&self, request: &Parts) -> Vec<SecretName> {
        let wanted = self.secrets.iter();
        let wanted = wanted.filter(|secret| !spots(secret, request).is_empty());
        wanted.map(|secret| secret.name.clone()).collect()
    }

    /// Replaces the placeholders of a request by the values.
    ///
    /// # Errors
    ///
    /// Fails if a value is missing or cannot be written. The request must not be sent then.
    pub(crate) fn place(
        &self,
        request: &mut Parts,
        values: &BTreeMap<SecretName, Arc<HeldValue>>,
    ) -> Result<Placed, NotPlaced> {
        let mut placed = Placed::default();
        let mut all = Vec::new();
        // All places are found before the first value is in: no value is taken for a placeholder.
        for secret in &self.secrets {
            let spots = spots(secret, request);
            placed.misplaced.extend(misplaced(secret, &spots, request));
            all.push((secret, spots));
        }
        for (secret, spots) in all.into_iter().filter(|(_, spots)| !spots.is_empty()) {
            let name = secret.name.clone();
            let Some(value) = values.get(&name) else {
                return Err(NotPlaced::NoValue { name });
            };
            for spot in spots {
                let written = put(spot, value.value.expose(), request);
                written.map_err(|place| NotPlaced::Unfit {
                    name: name.clone(),
                    place,
                })?;
            }
            placed.values.push(Arc::clone(value));
        }
        Ok(placed)
    }
}

/// Returns the places of a request that take the value of a secret.
fn spots<'a>(secret: &'a PlacedSecret, request: &Parts) -> Vec<Spot<'a>> {
    if !secret.is_for(&request.method, request.uri.path()) {
        return Vec::new();
    }
    let headers = &request.headers;
    let placeholder = secret.placeholder.as_str();
    match &secret.placement {
        Placement::Default => CREDENTIALS
            .iter()
            .flat_map(|name| of_header(name, placeholder, headers))
            .collect(),
        Placement::Header(name) => of_header(name, placeholder, headers),
        Placement::Basic => of_basic(placeholder, headers),
        Placement::Query(name) => {
            let is_whole = query::is_only(request.uri.query(), name, placeholder);
            is_whole
                .then_some(Spot::Query { name })
                .into_iter()
                .collect()
        }
    }
}

fn of_header<'a>(name: &'a str, placeholder: &str, headers: &HeaderMap) -> Vec<Spot<'a>> {
    let Some(value) = only(headers, name) else {
        return Vec::new();
    };
    let is_authorization = name == AUTHORIZATION.as_str();
    if let Some(before) = value.as_bytes().strip_suffix(placeholder.as_bytes())
        && (before.is_empty() || (is_authorization && is_scheme(before)))
    {
        let before = before.len();
        return vec![Spot::Header { name, before }];
    }
    if is_authorization {
        of_basic(placeholder, headers)
    } else {
        Vec::new()
    }
}

fn of_basic<'a>(placeholder: &str, headers: &HeaderMap) -> Vec<Spot<'a>> {
    let credentials = only(headers, AUTHORIZATION.as_str()).and_then(basic::Credentials::of);
    let Some(credentials) = credentials else {
        return Vec::new();
    };
    let is_it = |part: &[u8]| part == placeholder.as_bytes();
    let user = is_it(credentials.user()).then_some(Spot::User);
    let password = is_it(credentials.password()).then_some(Spot::Password);
    user.into_iter().chain(password).collect()
}

/// Returns the value of a header that a request has once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Returns true for the name of a scheme and the spaces after it.
fn is_scheme(text: &[u8]) -> bool {
    let scheme = text.trim_ascii_end();
    let (_, spaces) = text.split_at(scheme.len());
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !scheme.is_empty()
        && scheme.iter().all(is_of_scheme)
        && !spaces.is_empty()
        && spaces.iter().all(|byte| *byte == b' ')
}

/// Writes a value to its place. Fails with the place's name.
fn put(spot: Spot<'_>, value: &str, request: &mut Parts) -> Result<(), &'static str> {
    match spot {
        Spot::Header { name, before } => {
            let header = request.headers.get_mut(name).ok_or("a header")?;
            let mut text = Zeroizing::new(Vec::<u8>::with_capacity(before + value.len()));
            text.extend(header.as_bytes().iter().take(before));
            text.extend_from_slice(value.as_bytes());
            *header = secret_header(&text).ok_or("a header")?;
        }
        Spot::User | Spot::Password => {
            let place = "basic credentials";
            let header = request.headers.get_mut(AUTHORIZATION).ok_or(place)?;
            let mut credentials = basic::Credentials::of(header).ok_or(place)?;
            if spot == Spot::User {
                credentials.set_user(value).ok_or(place)?;
            } else {
                credentials.set_password(value);
            }
            *header = secret_header(&credentials.header()).ok_or(place)?;
        }
        Spot::Query { name } => {
            let uri = query::with_value(&request.uri, name, value);
            request.uri = uri.ok_or("a query")?;
        }
    }
    Ok(())
}

/// Returns a header's value that stays out of tables of headers and of debug output.
fn secret_header(text: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns the places where the placeholder of a secret stays.
fn misplaced(secret: &PlacedSecret, spots: &[Spot<'_>], request: &Parts) -> Vec<Misplaced> {
    let mut places = places(secret, spots, request);
    let is_for_it = secret.is_for(&request.method, request.uri.path());
    if !is_for_it && !places.is_empty() {
        places = vec!["request".to_owned()];
    }
    let of_place = |place| Misplaced {
        secret: secret.name.clone(),
        place,
    };
    places.into_iter().map(of_place).collect()
}

fn places(secret: &PlacedSecret, spots: &[Spot<'_>], request: &Parts) -> Vec<String> {
    let placeholder = secret.placeholder.as_bytes();
    let is_in = |text: &[u8]| memmem::find(text, placeholder).is_some();
    let takes = |header: &str| {
        spots.iter().any(|spot| match spot {
            Spot::Header { name, .. } => *name == header,
            Spot::User | Spot::Password => header == AUTHORIZATION.as_str(),
            Spot::Query { .. } => false,
        })
    };
    let mut places = Vec::new();
    for name in request.headers.keys().filter(|name| !takes(name.as_str())) {
        let mut values = request.headers.get_all(name).iter();
        let is_in_it = |value: &HeaderValue| {
            let decoded = basic::Credentials::of(value);
            is_in(value.as_bytes()) || decoded.is_some_and(|decoded| is_in(decoded.both()))
        };
        if values.any(is_in_it) {
            places.push(shortened(name.as_str(), PLACE_MAX));
        }
    }
    if is_in(request.uri.path().as_bytes()) {
        places.push("path".to_owned());
    }
    let in_query = request.uri.query().unwrap_or_default().as_bytes();
    let placed = spots
        .iter()
        .filter(|spot| matches!(spot, Spot::Query { .. }));
    if memmem::find_iter(in_query, placeholder).count() > placed.count() {
        places.push("query".to_owned());
    }
    places
}

#[cfg(test)]
mod tests;
