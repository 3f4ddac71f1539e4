//! Disks compared with arrays of bytes, through power cuts, full disks and damage.

#![allow(clippy::unwrap_used, reason = "a failed step fails its test")]

mod adopt;
mod arrays;
mod bases;
mod claims;
mod damage;
mod depth;
mod expected;
mod logs;
mod only_head;
mod power;
mod shares;
mod simulated;
mod written;
