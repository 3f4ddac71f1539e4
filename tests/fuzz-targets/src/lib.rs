//! The fuzz targets: a module for each kind of hostile bytes, with a function that takes any bytes and
//! panics if a promise of the parser is broken.
//!
//! The workspace in `fuzz/` gives them to libFuzzer (`cargo xtask fuzz`). The tests of this crate replay
//! the committed corpus, and mutations of it.

#![forbid(unsafe_code)]

mod blocks;
mod bounded;
mod hostile_tree;
mod images;
mod strict_http;

pub mod agent_frames;
pub mod apply_record;
pub mod block_tree;
pub mod disk_image;
pub mod edge_answer;
pub mod edge_request;
pub mod erofs_image;
pub mod ext4_image;
pub mod manifest;
pub mod mcp_input;
pub mod network_frames;
pub mod oci_spec;
pub mod packed_file;
pub mod sandbox_disk;
pub mod secret_words;
pub mod sftp_requests;
pub mod snapshot_file;
pub mod staged_disk;
pub mod tar_layer;
pub mod ttrpc_frames;
pub mod vmdk_descriptor;
