//! Archives of snapshots: written, read, damaged and hostile.

mod damage;
mod hostile;
mod sample;
mod whole;
