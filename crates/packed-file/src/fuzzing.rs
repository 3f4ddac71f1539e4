//! Seals for changed bytes, with which a fuzzer gets past the checks of the end record and the directory.

use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::format::{DirectoryEntry, EndRecord, Groups, MAGIC, SIZE_MAX_BYTES, VERSION};
use crate::value::{Value, merged};

/// Returns the bytes as a packed file whose values, checksum and seal are those of its tables, as far as the
/// tables are in the file; `None` if they are not.
pub fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let end_offset = bytes.len().checked_sub(size_of::<EndRecord>())?;
    let mut end = EndRecord::read_from_bytes(bytes.get(end_offset..)?).ok()?;
    (end.version, end.magic) = (VERSION.into(), MAGIC);
    let groups = Groups {
        size_bytes: end.size_bytes.get().min(SIZE_MAX_BYTES),
    };
    let directory_offset = usize::try_from(end.directory_offset_bytes.get()).ok()?;
    let directory = bytes.get(directory_offset..end_offset)?;
    let mut directory = <[DirectoryEntry]>::ref_from_bytes(directory).ok()?.to_vec();
    let is_one = directory.len() == 1;
    for (section, entry) in directory.iter_mut().enumerate() {
        let count = groups.in_section(section);
        let values = usize::try_from(entry.table_offset_bytes.get()).ok()?;
        let values = values.checked_add(count * size_of::<u32>())?;
        let values = bytes.get(values..values.checked_add(count * size_of::<Value>())?)?;
        entry.value = merged(<[Value]>::ref_from_bytes(values).ok()?, is_one);
    }
    let values: Vec<Value> = directory.iter().map(|entry| entry.value).collect();
    end.checksum = merged(&values, true);
    end.seal = end.sealed(directory.as_bytes());
    bytes.truncate(directory_offset);
    bytes.extend(directory.as_bytes());
    bytes.extend(end.as_bytes());
    Some(bytes)
}
