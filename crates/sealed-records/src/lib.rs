//! JSON records that prove their own integrity.
//!
//! A record is a JSON object whose last field, `seal`, is the digest of every byte before that
//! field. The bytes after it are fixed, so no byte of the file can change undetected.
//!
//! [`unknown_field`] tells a record of a later version from one that the caller knows as a whole: a
//! program that rewrites a record would drop the fields that it does not know.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! let record = BTreeMap::from([("name", "web")]);
//! let mut sealed = sealed_records::seal(&record).expect("sealed");
//! let read: BTreeMap<String, String> = sealed_records::open(&sealed).expect("intact");
//! assert_eq!(read["name"], "web");
//!
//! sealed[8] ^= 1;
//! sealed_records::open::<BTreeMap<String, String>>(&sealed).expect_err("damaged");
//! ```
//!
//! # Errors
//! [`BrokenSeal`] says whether the bytes were changed, or whether the sealed content is not the
//! record that was asked for. The caller bounds the length of the bytes.

mod seal;
mod unknown_field;

pub use seal::{BrokenSeal, open, seal};
pub use unknown_field::unknown_field;
