//! Files that end with the BLAKE3 of the bytes before it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::block::length_of;
use crate::error::{Damaged, Fault, OpenError, SYNC, StorageError};
use crate::id::ID_BYTES;
use crate::names;
use crate::storage::{Access, Storage, StorageFile};

/// Length of the seal, in bytes.
pub(crate) const SEAL_BYTES: usize = blake3::OUT_LEN;

/// The longest path, in bytes (`PATH_MAX`, uapi/linux/limits.h).
const PATH_MAX_BYTES: u64 = 4096;

/// Appends the seal.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let seal = blake3::hash(&bytes);
    bytes.extend_from_slice(seal.as_bytes());
    bytes
}

/// Returns the bytes before the seal.
pub(crate) fn unseal(bytes: &[u8]) -> Result<&[u8], Fault> {
    let (content, seal) = bytes.split_last_chunk().ok_or(Fault::Seal)?;
    let seal: &[u8; SEAL_BYTES] = seal;
    (blake3::hash(content) == *seal)
        .then_some(content)
        .ok_or(Fault::Seal)
}

/// Reads a sealed file as a whole.
pub(crate) fn read<S: Storage>(storage: &S, name: &str) -> Result<Vec<u8>, OpenError> {
    let opened = storage.open(name, Access::Read);
    let file = opened.map_err(StorageError::of("open", name))?;
    let read = StorageError::of("read", name);
    let bytes = file.size_bytes().and_then(|size_bytes| {
        let length = usize::try_from(size_bytes).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    });
    Ok(bytes.map_err(read)?)
}

/// Returns a function that names the damaged file of a fault.
pub(crate) fn damaged(name: &str) -> impl FnOnce(Fault) -> Damaged {
    move |fault| Damaged {
        file: name.to_owned(),
        fault,
    }
}

/// Makes a file with these bytes in the place of a leftover, syncs it, and returns it open.
pub(crate) fn write<S: Storage>(
    storage: &S,
    name: &str,
    bytes: &[u8],
) -> Result<S::File, StorageError> {
    let file = write_unsynced(storage, name, bytes)?;
    file.sync().map_err(StorageError::of(SYNC, name))?;
    Ok(file)
}

/// Makes a file with these bytes in the place of a leftover, and returns it open. It is not durable.
pub(crate) fn write_unsynced<S: Storage>(
    storage: &S,
    name: &str,
    bytes: &[u8],
) -> Result<S::File, StorageError> {
    let file = create_anew(storage, name)?;
    let written = file.write_all_at(bytes, 0);
    written.map_err(StorageError::of("write", name))?;
    Ok(file)
}

/// Makes files durable, which are given with their names.
pub(crate) fn sync_files<S: Storage>(
    storage: &S,
    files: &[(String, &S::File)],
) -> Result<(), StorageError> {
    let open: Vec<&S::File> = files.iter().map(|(_, file)| *file).collect();
    storage.sync_files(&open).map_err(|(index, error)| {
        let name = files.get(index).map_or("a file", |(name, _)| name.as_str());
        StorageError::of(SYNC, name)(error)
    })
}

/// Replaces a file: after a power cut it is the old or the new one.
pub(crate) fn replace<S: Storage>(
    storage: &S,
    name: &str,
    bytes: &[u8],
) -> Result<(), StorageError> {
    write(storage, &names::unfinished(name), bytes)?;
    finish(storage, name)?;
    sync_names(storage)
}

/// Gives an unfinished file its name; not durable before [`sync_names`].
pub(crate) fn finish<S: Storage>(storage: &S, name: &str) -> Result<(), StorageError> {
    let unfinished = names::unfinished(name);
    let renamed = storage.rename(&unfinished, name);
    renamed.map_err(StorageError::of("rename", &unfinished))
}

/// Makes the names of the pool's files durable.
pub(crate) fn sync_names<S: Storage>(storage: &S) -> Result<(), StorageError> {
    let synced = storage.sync_names();
    synced.map_err(StorageError::of(SYNC, "the pool's directory"))
}

/// Makes an empty file, in the place of a leftover.
pub(crate) fn create_anew<S: Storage>(storage: &S, name: &str) -> Result<S::File, StorageError> {
    remove(storage, name)?;
    let created = storage.create(name);
    created.map_err(StorageError::of("create", name))
}

/// Removes a file that may not exist.
pub(crate) fn remove<S: Storage>(storage: &S, name: &str) -> Result<(), StorageError> {
    match storage.remove(name) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StorageError::of("remove", name)(error))
        }
        _ => Ok(()),
    }
}

/// Appends the length of a path and the path.
pub(crate) fn write_path(bytes: &mut Vec<u8>, path: &Path) {
    let path = path.as_os_str().as_bytes();
    bytes.extend_from_slice(&length_of(path).to_le_bytes());
    bytes.extend_from_slice(path);
}

/// Reads fields one after the other.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the next bytes; an error if they end before.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let too_short = Fault::Field {
            name: "length",
            value: length_of(self.rest),
        };
        let (array, rest) = self.rest.split_first_chunk().ok_or(too_short)?;
        self.rest = rest;
        Ok(*array)
    }

    /// Returns the next `length` bytes; an error if they end before.
    pub(crate) fn bytes(&mut self, length: u64) -> Result<&'a [u8], Fault> {
        let too_short = Fault::Field {
            name: "length",
            value: length_of(self.rest),
        };
        let length = usize::try_from(length).ok();
        let parts = length.and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = parts.ok_or(too_short)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    /// Returns the path that [`write_path`] has written.
    pub(crate) fn path(&mut self) -> Result<PathBuf, Fault> {
        let value = self.u64()?;
        if value > PATH_MAX_BYTES {
            let name = "path_bytes";
            return Err(Fault::Field { name, value });
        }
        let path = self.bytes(value)?.to_vec();
        Ok(OsString::from_vec(path).into())
    }

    /// Returns the bytes of an identifier; `None` if they are all zero.
    pub(crate) fn id<T>(
        &mut self,
        from_bytes: impl FnOnce([u8; ID_BYTES]) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        self.array().map(from_bytes)
    }

    /// Checks the magic at the start of a file.
    pub(crate) fn magic(&mut self, expected: [u8; 8]) -> Result<(), Fault> {
        let found: [u8; 8] = self.array()?;
        let value = u64::from_le_bytes(found);
        let name = "magic";
        (found == expected)
            .then_some(())
            .ok_or(Fault::Field { name, value })
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(self) -> Result<(), Fault> {
        let value = length_of(self.rest);
        let name = "length";
        (value == 0)
            .then_some(())
            .ok_or(Fault::Field { name, value })
    }
}
