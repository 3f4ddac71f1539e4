//! Disk images as other programs make them, and damaged ones.

mod damage;
mod filesystems;
mod formats;
mod partitions;
mod refusals;
mod tools;
