use std::collections::VecDeque;
use std::io;

/// The last `count` of what comes until there is no more. Memory holds no more than those.
pub(crate) fn last_of<T>(
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
            last_of(count, || Ok(numbers.next())).expect("no error")
        };
        assert_eq!(last(2), [4, 5]);
        assert_eq!(last(9), [1, 2, 3, 4, 5]);
        assert!(last(0).is_empty());
    }
}
