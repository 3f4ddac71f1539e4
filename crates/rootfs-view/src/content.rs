use fstree::Segment;

/// Location of a regular file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The content is on the upper disk.
    Upper(ext4_writer::FileData),
    /// The content is in the image.
    Lower(fstree::FileData),
    /// The content should be in the image, but is missing there.
    Lost {
        /// Size of the file, in bytes.
        size_bytes: u64,
    },
}

impl Content {
    /// Returns the file's size, in bytes.
    pub const fn size_bytes(&self) -> u64 {
        match self {
            Self::Upper(data) => data.size_bytes,
            Self::Lower(data) => data.size_bytes,
            Self::Lost { size_bytes } => *size_bytes,
        }
    }
}

/// Converts runs of blocks in ascending order to segments of a file of `size_bytes`.
pub(crate) fn segments(
    size_bytes: u64,
    block_bytes: u64,
    runs: impl Iterator<Item = (u64, u64)>,
) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for (block, blocks) in runs {
        let start = block.saturating_mul(block_bytes);
        let end = block.saturating_add(blocks).saturating_mul(block_bytes);
        let end = end.min(size_bytes);
        match segments.last_mut() {
            _ if start >= end => {}
            Some(last) if last.offset_bytes + last.length_bytes == start => {
                last.length_bytes += end - start;
            }
            _ => segments.push(Segment {
                offset_bytes: start,
                length_bytes: end - start,
            }),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_are_one_and_end_with_the_file() {
        let found = segments(10_000, 4096, [(0, 1), (1, 1), (4, 9)].into_iter());
        assert_eq!(
            found,
            [Segment {
                offset_bytes: 0,
                length_bytes: 8192
            }]
        );
        assert_eq!(
            segments(10_000, 4096, [(2, 9)].into_iter())[0].length_bytes,
            1808
        );
    }
}
