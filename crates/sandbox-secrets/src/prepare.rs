use std::path::absolute;

use msb_secrets::{Secret, SecretSource};

use crate::SecretsError;

/// Takes from the secrets of a new sandbox what its description must not have: values, and relative paths of files.
///
/// # Errors
/// If this process has no current directory.
pub fn without_values(secrets: &mut [Secret]) -> Result<(), SecretsError> {
    for secret in secrets {
        secret.value = None;
        make_absolute(&mut secret.from)?;
    }
    Ok(())
}

/// Makes the path of a file absolute: the next start may have another current directory.
pub(crate) fn make_absolute(source: &mut SecretSource) -> Result<(), SecretsError> {
    match source {
        // The home directory is looked up when the file is read.
        SecretSource::File(path) if !path.starts_with("~") => {
            *path = absolute(&*path).map_err(SecretsError::CurrentDirectory)?;
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use msb_secrets::SecretValue;

    use super::*;

    fn secret(text: &str) -> Secret {
        text.parse().expect("a secret")
    }

    #[test]
    fn a_description_has_absolute_paths_and_no_values() {
        let mut secrets = [
            secret("A@api.example.com"),
            secret("name=B,to=api.example.com,from=file:key"),
            secret("name=C,to=api.example.com,from=file:~/key"),
        ];
        secrets[0].from = SecretSource::Given;
        secrets[0].value = Some(SecretValue::new("hunter22").expect("a value"));
        without_values(&mut secrets).expect("a directory");
        assert!(secrets.iter().all(|secret| secret.value.is_none()));
        let SecretSource::File(path) = &secrets[1].from else {
            panic!("another source");
        };
        assert!(path.is_absolute() && path.ends_with("key"), "{path:?}");
        assert_eq!(
            secrets[2].from,
            SecretSource::File(Path::new("~/key").to_owned())
        );
    }
}
