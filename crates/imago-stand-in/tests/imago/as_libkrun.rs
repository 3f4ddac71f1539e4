//! The calls by which krun-devices 1.19.7 opens and uses a disk (src/virtio/block/device.rs).

use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::{Arc, Mutex};

use imago::file::File;
use imago::io_buffers::{IoVector, IoVectorMut};
use imago::qcow2::Qcow2;
use imago::raw::Raw;
use imago::vmdk::Vmdk;
use imago::{
    DynStorage, FormatAccess, FormatDriverBuilder as _, PermissiveImplicitOpenGate, Storage as _,
    StorageOpenOptions, SyncFormatAccess,
};

type AnyStorage = Box<dyn DynStorage>;

/// A disk as a thread of libkrun has it.
pub(crate) struct Disk(Arc<Mutex<SyncFormatAccess<AnyStorage>>>);

fn file(path: &Path, is_read_only: bool) -> io::Result<AnyStorage> {
    let options = StorageOpenOptions::new()
        .write(!is_read_only)
        .filename(path)
        .direct(false);
    Ok(Box::new(File::open_sync(options)?))
}

/// Returns the unit of discards that libkrun tells the guest, in bytes.
pub(crate) fn discard_align(path: &Path) -> io::Result<usize> {
    Ok(file(path, false)?.discard_align())
}

impl Disk {
    pub(crate) fn raw(path: &Path, is_read_only: bool) -> io::Result<Self> {
        let raw = Raw::<AnyStorage>::open_image_sync(file(path, is_read_only)?, !is_read_only)?;
        Ok(Self(Arc::new(Mutex::new(SyncFormatAccess::new(raw)?))))
    }

    pub(crate) fn vmdk(path: &Path) -> io::Result<Self> {
        let vmdk = Vmdk::<AnyStorage, Arc<FormatAccess<_>>>::builder(file(path, true)?)
            .open_sync(PermissiveImplicitOpenGate::default())?;
        Ok(Self(Arc::new(Mutex::new(SyncFormatAccess::new(vmdk)?))))
    }

    pub(crate) fn qcow2(path: &Path) -> io::Result<Self> {
        let file = file(path, true)?;
        let mut qcow2 = Qcow2::<AnyStorage, Arc<FormatAccess<_>>>::open_image_sync(file, false)?;
        qcow2.open_implicit_dependencies_sync()?;
        Ok(Self(Arc::new(Mutex::new(SyncFormatAccess::new(qcow2)?))))
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.with(|disk| disk.size())
    }

    /// Reads into buffers of these lengths, and returns their bytes.
    pub(crate) fn read(&self, lengths: &[usize], at_bytes: u64) -> io::Result<Vec<u8>> {
        let mut buffers: Vec<_> = lengths.iter().map(|length| vec![0xee; *length]).collect();
        let slices: Vec<_> = buffers.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
        self.with(|disk| disk.readv(IoVectorMut::from(slices), at_bytes))?;
        Ok(buffers.concat())
    }

    /// Writes bytes that lie in buffers of these lengths.
    pub(crate) fn write(&self, lengths: &[usize], bytes: &[u8], at_bytes: u64) -> io::Result<()> {
        let mut rest = bytes;
        let mut slices = Vec::new();
        for length in lengths {
            let (part, after) = rest.split_at(*length);
            slices.push(IoSlice::new(part));
            rest = after;
        }
        self.with(|disk| disk.writev(IoVector::from(slices), at_bytes))
    }

    pub(crate) fn write_zeroes(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.with(|disk| disk.write_zeroes(at_bytes, length_bytes))
    }

    pub(crate) fn discard_to_zero(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.with(|disk| disk.discard_to_zero(at_bytes, length_bytes))
    }

    pub(crate) fn discard_to_any(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.with(|disk| disk.discard_to_any(at_bytes, length_bytes))
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.with(|disk| disk.flush())?;
        self.with(|disk| disk.sync())
    }

    fn with<T>(&self, call: impl FnOnce(&mut SyncFormatAccess<AnyStorage>) -> T) -> T {
        call(&mut self.0.lock().expect("no thread panicked"))
    }
}
