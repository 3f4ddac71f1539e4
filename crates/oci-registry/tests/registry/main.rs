//! Pulls of blobs from, and pushes to, a registry in this process, which misbehaves as each test tells
//! it, and logins.

mod faults;
mod login;
mod manifests;
mod ranges;
mod sources;
mod support;
mod uploads;
