//! Images at the limits of sizes and counts, as the kernel mounts them.
//!
//! `cargo xtask erofs --sizes` runs [`oracle_sizes`] with a million inodes
//! (`MSB_EROFS_INODES`) and prints what they took.

mod counts;
mod disk;
mod files;
mod measure;
mod xattrs;

use std::io::Write;

use crate::mounted::Mounted;

/// How many inodes the large image has where nobody says.
const INODES: usize = 110_000;

#[test]
fn oracle_sizes() {
    let inodes = std::env::var("MSB_EROFS_INODES");
    let inodes = inodes.map_or(INODES, |text| text.parse().unwrap());
    let mut said = counts::many_inodes(inodes);
    said.push_str(&files::file_sizes());
    said.push_str(&counts::depth_and_links());
    said.push_str(&xattrs::more_than_a_list());
    said.push_str(&disk::past_2_tib());
    // Past the harness, which keeps what is printed to itself.
    writeln!(std::io::stdout(), "{said}sizes: all as written").unwrap();
}
