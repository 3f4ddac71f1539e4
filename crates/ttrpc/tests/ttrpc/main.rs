//! The client and the server of ttrpc, against each other and against raw bytes.

mod calls;
mod frames;
mod hostile;
mod service;
