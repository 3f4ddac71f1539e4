use fstree::Segment;

use crate::Side;

/// Bytes that are compared at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// Returns true if two files have the same bytes. Ranges that are holes in both are not read.
pub(crate) fn is_equal<O, N>(
    (old_side, old): (&O, &O::Content),
    (new_side, new): (&N, &N::Content),
) -> Result<bool, O::Error>
where
    O: Side,
    N: Side<Error = O::Error>,
{
    let size_bytes = old_side.size_bytes(old);
    if size_bytes != new_side.size_bytes(new) {
        return Ok(false);
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let data = [old_side.segments(old), new_side.segments(new)].concat();
    for range in union(data) {
        let end_bytes = size_bytes.min(range.offset_bytes.saturating_add(range.length_bytes));
        let mut offset_bytes = range.offset_bytes;
        while offset_bytes < end_bytes {
            let length_bytes = PIECE_BYTES.min(end_bytes - offset_bytes);
            let length = usize::try_from(length_bytes).expect("a piece fits into memory");
            one.resize(length, 0);
            other.resize(length, 0);
            old_side.read_at(old, offset_bytes, &mut one)?;
            new_side.read_at(new, offset_bytes, &mut other)?;
            if one != other {
                return Ok(false);
            }
            offset_bytes += length_bytes;
        }
    }
    Ok(true)
}

/// Returns the ranges that are in at least one segment, in ascending order and without overlaps.
fn union(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.sort_by_key(|segment| segment.offset_bytes);
    let mut union: Vec<Segment> = Vec::new();
    for segment in segments {
        let end_bytes = segment.offset_bytes.saturating_add(segment.length_bytes);
        match union.last_mut() {
            Some(last) if segment.offset_bytes <= last.offset_bytes + last.length_bytes => {
                let length_bytes = end_bytes - last.offset_bytes;
                last.length_bytes = last.length_bytes.max(length_bytes);
            }
            _ => union.push(Segment {
                offset_bytes: segment.offset_bytes,
                length_bytes: end_bytes - segment.offset_bytes,
            }),
        }
    }
    union
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_united() {
        let segment = |(offset_bytes, length_bytes)| Segment {
            offset_bytes,
            length_bytes,
        };
        let united = union([(8, 4), (0, 4), (2, 3), (12, 1)].map(segment).to_vec());
        assert_eq!(united, [(0, 5), (8, 5)].map(segment));
        let end = union(vec![segment((u64::MAX - 1, 9)), segment((0, 1))]);
        assert_eq!(end, [(0, 1), (u64::MAX - 1, 1)].map(segment));
    }
}
