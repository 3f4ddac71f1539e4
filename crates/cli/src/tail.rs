use std::collections::VecDeque;
use std::io;

/// Returns the last `count` items of a sequence that ends with `None`. Holds at most one item more
/// in memory.
pub(crate) fn last_items<T>(
    count: usize,
    mut next: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<VecDeque<T>> {
    let mut kept = VecDeque::new();
    while let Some(one) = next()? {
        kept.push_back(one);
        if kept.len() > count {
            kept.pop_front();
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept() {
        let last = |count| {
            let mut numbers = 1..=5;
            last_items(count, || Ok(numbers.next())).expect("no error")
        };
        assert_eq!(last(2), [4, 5]);
        assert_eq!(last(9), [1, 2, 3, 4, 5]);
        assert!(last(0).is_empty());
    }
}
