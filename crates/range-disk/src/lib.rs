//! A read-only disk of consecutive ranges of other bytes.
//!
//! A [`RangeDisk`] is to a machine what a VMDK descriptor is to other VMMs: one disk of several files, each from an
//! offset on, with zeros between them where there are some. It owns its sources, and reads from each only the range
//! that it was given.
//!
//! ```
//! use range_disk::RangeDisk;
//! use served_disk::Disk as _;
//!
//! let mut disk = RangeDisk::new();
//! disk.push(b"metadata".to_vec(), 4, 4)?;
//! disk.push_zeros(2)?;
//! disk.push(b"layer".to_vec(), 0, 5)?;
//! assert_eq!(disk.size_bytes(), 11);
//!
//! let mut read = [0; 6];
//! disk.read(&mut read, 2)?;
//! assert_eq!(&read, b"ta\0\0la");
//! assert!(disk.write(b"x", 0).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here opens files. A source that cannot be read fails the reads that need it, and no others. A read into
//! several buffers is one of up to 128 KiB of the sources, which the disk holds.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod disk;
mod error;

pub use disk::RangeDisk;
pub use error::PushError;
