//! Artifacts over cache files that lose, tear and refuse writes, and over sources that lie, fail and wait.

mod cache;
mod crashes;
mod processes;
mod reads;
mod sources;
mod threads;
mod trims;
