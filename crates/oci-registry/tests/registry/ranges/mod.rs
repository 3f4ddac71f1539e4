//! Downloads of a blob in ranges, from servers that have ranges, and from those that only say so.

mod answers;
mod breaks;
mod counting;
mod memory;
mod origin;
mod sharing;
mod statuses;
mod tls;
mod usual;
