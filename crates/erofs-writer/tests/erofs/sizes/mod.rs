//! Images at the limits of sizes and counts, mounted by the kernel.
//!
//! `cargo xtask erofs --sizes` runs [`oracle_sizes`] with a million inodes (`MSB_EROFS_INODES`) and
//! prints their time and memory.

mod counts;
mod disk;
mod files;
mod measure;
mod xattrs;

use std::io::Write;

use crate::mounted::Mounted;

/// Number of inodes of the large image by default.
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
    // Prints without the test harness, which would capture the text.
    writeln!(std::io::stdout(), "{said}sizes: all as written").unwrap();
}
