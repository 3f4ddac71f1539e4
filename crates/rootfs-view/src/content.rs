/// Where a regular file's content lies.
#[derive(Debug, Clone)]
pub enum Content {
    /// On the upper disk.
    Upper(ext4_writer::FileData),
    /// In the image.
    Lower(erofs_writer::FileData),
    /// Nowhere: it should be in the image.
    Lost {
        /// The file's size, in bytes.
        size_bytes: u64,
    },
}

/// Bytes of a file that hold data; between segments there are holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First byte within the file.
    pub offset_bytes: u64,
    /// How many, at least 1.
    pub length_bytes: u64,
}

impl Content {
    /// The file's size.
    pub const fn size_bytes(&self) -> u64 {
        match self {
            Self::Upper(data) => data.size_bytes,
            Self::Lower(data) => data.size_bytes,
            Self::Lost { size_bytes } => *size_bytes,
        }
    }
}

/// Runs of blocks, in ascending order, as bytes of a file of this size.
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

/// All of a file.
pub(crate) fn whole(size_bytes: u64) -> Vec<Segment> {
    let whole = Segment {
        offset_bytes: 0,
        length_bytes: size_bytes,
    };
    (size_bytes > 0).then_some(whole).into_iter().collect()
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
