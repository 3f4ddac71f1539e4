//! One parameter of a query.

use http::Uri;
use http::uri::PathAndQuery;
use zeroize::Zeroizing;

use crate::forms::url_encoded;

/// Returns true if a query has a parameter of this name once, and with this value.
pub(super) fn is_only(query: Option<&str>, name: &str, value: &str) -> bool {
    let mut values = query
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| value_of(pair, name));
    values.next() == Some(value) && values.next().is_none()
}

/// Returns a URI with another value of a parameter; `None` if it cannot be written.
pub(super) fn with_value(uri: &Uri, name: &str, value: &str) -> Option<Uri> {
    let encoded = url_encoded(value.as_bytes());
    let encoded = std::str::from_utf8(&encoded).ok()?;
    let query = uri.query()?;
    // Room for all of it: no copy of the value is left behind.
    let room = uri.path().len() + query.len() + name.len() + encoded.len() + 2;
    let mut text = Zeroizing::new(String::with_capacity(room));
    text.push_str(uri.path());
    for (index, pair) in query.split('&').enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        if value_of(pair, name).is_some() {
            text.push_str(name);
            text.push('=');
            text.push_str(encoded);
        } else {
            text.push_str(pair);
        }
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text.as_str()).ok()?);
    Uri::from_parts(parts).ok()
}

fn value_of<'a>(pair: &'a str, name: &str) -> Option<&'a str> {
    let (this, value) = pair.split_once('=')?;
    (this == name).then_some(value)
}
