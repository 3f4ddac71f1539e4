//! Secrets for tests.

use std::sync::Arc;

use msb_secrets::{Placement, Secret, SecretName, SecretValue};

use crate::settings::{Destination, Destinations, EdgeSettings};
use crate::values::HeldValue;

pub(crate) fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

pub(crate) fn value(text: &str) -> SecretValue {
    SecretValue::new(text).unwrap()
}

/// Returns a secret with a placeholder, of a text such as `K@api.example.com`.
pub(crate) fn secret(text: &str) -> Secret {
    let mut secret: Secret = text.parse().unwrap();
    secret.draw_placeholder().unwrap();
    secret
}

pub(crate) fn placed_in(text: &str, placement: Placement) -> Secret {
    let mut secret = secret(text);
    secret.placement = placement;
    secret
}

pub(crate) fn held(secret: &str, text: &str) -> Arc<HeldValue> {
    Arc::new(HeldValue::new(name(secret), value(text)))
}

/// Returns the destination `api.example.com` of some secrets.
pub(crate) fn destination(secrets: Vec<Secret>) -> Arc<Destination> {
    let settings = EdgeSettings {
        secrets,
        requests: Vec::new(),
    };
    let all = Destinations::new(settings).unwrap();
    all.of("api.example.com", 443).unwrap()
}
