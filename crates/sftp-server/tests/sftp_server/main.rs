//! Tests of the server as its clients see it.

mod oracle;
mod packets;
mod requests;
