//! The secrets of a sandbox together.

use crate::host::HostPattern;
use crate::secret::{InvalidSecret, SECRETS_MAX, Secret};

#[cfg(test)]
mod tests;

/// Names below which everyone can have a host, whose owner a secret would reach.
const SHARED_PARENTS: [&str; 30] = [
    "amazonaws.com",
    "appspot.com",
    "azureedge.net",
    "azurewebsites.net",
    "cloudapp.net",
    "cloudfront.net",
    "digitaloceanspaces.com",
    "firebaseapp.com",
    "fly.dev",
    "github.io",
    "githubusercontent.com",
    "gitlab.io",
    "glitch.me",
    "googleapis.com",
    "googleusercontent.com",
    "herokuapp.com",
    "hf.space",
    "netlify.app",
    "ngrok-free.app",
    "ngrok.app",
    "ngrok.io",
    "onrender.com",
    "pages.dev",
    "r2.dev",
    "replit.app",
    "run.app",
    "vercel.app",
    "web.app",
    "windows.net",
    "workers.dev",
];

/// Checks all secrets of a sandbox, each and together.
///
/// # Errors
/// An invalid secret, two with the same name or file, and more than [`SECRETS_MAX`].
pub fn check_all(secrets: &[Secret]) -> Result<(), InvalidSecret> {
    if secrets.len() > SECRETS_MAX {
        return Err(InvalidSecret::TooMany {
            count: secrets.len(),
        });
    }
    for (index, secret) in secrets.iter().enumerate() {
        secret.check()?;
        for earlier in secrets.iter().take(index) {
            check_pair(earlier, secret)?;
        }
    }
    Ok(())
}

fn check_pair(first: &Secret, second: &Secret) -> Result<(), InvalidSecret> {
    // Names of variables differ by case, and nothing else looks at them.
    if first.name == second.name {
        return Err(InvalidSecret::Duplicate {
            name: second.name.clone(),
        });
    }
    if first.file.is_some() && first.file == second.file {
        return Err(InvalidSecret::SameFile {
            first: first.name.clone(),
            second: second.name.clone(),
        });
    }
    Ok(())
}

/// Returns a notice for each pattern whose hosts belong to many owners.
#[must_use]
pub fn notices(secrets: &[Secret]) -> Vec<String> {
    let mut notices = Vec::new();
    for secret in secrets {
        for destination in &secret.to {
            if is_shared(&destination.host) {
                notices.push(format!(
                    "the secret {} is sent to every host that {} matches, and anyone can have one of them",
                    secret.name, destination.host
                ));
            }
        }
    }
    notices
}

fn is_shared(pattern: &HostPattern) -> bool {
    let HostPattern::Below(name) = pattern else {
        return false;
    };
    let name = name.as_str();
    SHARED_PARENTS
        .iter()
        .any(|parent| *parent == name || is_below(name, parent) || is_below(parent, name))
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent)
        .is_some_and(|labels| labels.ends_with('.'))
}
