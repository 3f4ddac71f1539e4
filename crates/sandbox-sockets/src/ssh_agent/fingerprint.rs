use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Returns the fingerprint of a public key, as `ssh-add -l` prints it.
#[must_use]
pub fn fingerprint(key: &[u8]) -> String {
    let digest = Sha256::digest(key);
    format!("SHA256:{}", BASE64_STANDARD_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_openssh() {
        // The digest of nothing.
        assert_eq!(
            fingerprint(b""),
            "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
        );
    }
}
