//! Extended attributes: names, the area behind an inode, the area that inodes share.

mod body;
mod namespace;
mod shared;

pub(crate) use body::{encode_body, filter_of};
pub(crate) use namespace::full_name;
pub(crate) use shared::SharedXattrs;

use namespace::{filter_bit, split_name};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

use crate::error::InvalidInode;
use crate::format::XattrEntry;

/// Appends one `struct erofs_xattr_entry` with its name and value, padded to 4 bytes.
fn push_entry(out: &mut Vec<u8>, full_name: &[u8], value: &[u8]) -> Result<(), InvalidInode> {
    let (index, suffix) = split_name(full_name)?;
    let name = || full_name.escape_ascii().to_string();
    let e_name_len =
        u8::try_from(suffix.len()).map_err(|_| InvalidInode::XattrName { name: name() })?;
    let e_value_size = u16::try_from(value.len()).map_err(|_| InvalidInode::XattrValue {
        name: name(),
        length_bytes: value.len(),
    })?;
    let entry = XattrEntry {
        e_name_len,
        e_name_index: index,
        e_value_size: U16::new(e_value_size),
    };
    out.extend_from_slice(entry.as_bytes());
    out.extend_from_slice(suffix);
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    Ok(())
}
