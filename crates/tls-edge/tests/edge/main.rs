//! Ended connections as a guest and a host see them: TLS clients that trust the sandbox's authority, TLS servers
//! with an authority of their own, and the edge between them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod authority;
mod bodies;
mod certificates;
mod closings;
mod flood;
mod frames;
mod guest;
mod lab;
mod misplaced;
mod openings;
mod reflection;
mod requests;
mod rules;
mod smuggling;
mod turns;
mod upgrades;
mod upstream;
mod values;
mod windows;
