/// Bytes that can be read from any place: a disk of either kind.
pub trait ReadAt: erofs_writer::ReadAt + ext4_writer::ReadAt {}

impl<T: erofs_writer::ReadAt + ext4_writer::ReadAt> ReadAt for T {}
