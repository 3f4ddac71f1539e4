use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Hexadecimal digits of a SHA-256 digest.
const HEX_DIGITS: usize = 64;

const BEFORE_DIGEST: &str = ",\n  \"seal\": \"sha256:";
const AFTER_DIGEST: &str = "\"\n}\n";
const TAIL_BYTES: usize = BEFORE_DIGEST.len() + HEX_DIGITS + AFTER_DIGEST.len();

/// An error in the bytes of a record.
#[derive(Debug, thiserror::Error)]
pub enum BrokenSeal {
    /// The seal does not match the bytes before it.
    #[error("its seal is not the digest of its content")]
    Seal,
    /// The sealed content is not the expected record.
    #[error("cannot parse its content")]
    Content(#[source] serde_json::Error),
}

/// Returns the record in the form of its file.
///
/// # Errors
/// If the record is not an object with fields, or cannot be serialized.
pub fn seal(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(record)?;
    if !json.ends_with(b"\n}") {
        return Err(io::Error::other("a record is an object that has fields"));
    }
    json.truncate(json.len() - 2);
    let tail = tail(&json);
    json.extend(tail.bytes());
    Ok(json)
}

/// Returns the record in the bytes of a file.
///
/// # Errors
/// If a byte is not as it was sealed, or the content is another record.
pub fn open<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BrokenSeal> {
    let body_bytes = bytes
        .len()
        .checked_sub(TAIL_BYTES)
        .ok_or(BrokenSeal::Seal)?;
    let (body, found) = bytes.split_at(body_bytes);
    if found != tail(body).as_bytes() {
        return Err(BrokenSeal::Seal);
    }
    serde_json::from_slice(bytes).map_err(BrokenSeal::Content)
}

fn tail(body: &[u8]) -> String {
    let digest = hex::encode(Sha256::digest(body));
    format!("{BEFORE_DIGEST}{digest}{AFTER_DIGEST}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn no_bit_of_a_record_changes_unseen() {
        let record = BTreeMap::from([("a", "one"), ("b", "two")]);
        let sealed = seal(&record).expect("sealed");
        let back: BTreeMap<String, String> = open(&sealed).expect("whole");
        assert_eq!(back["b"], "two");
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            open::<BTreeMap<String, String>>(&changed).expect_err("changed");
        }
        for length in 0..sealed.len() {
            open::<BTreeMap<String, String>>(&sealed[..length]).expect_err("cut");
        }
    }
}
