use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io;

/// A generation is copied if it is at most this many times as large as the younger ones that are
/// merged with it, so that each byte is copied a few times in all.
const TIMES_MAX: u64 = 2;
/// A generation of at most this size is copied in any case, in bytes.
const SMALL_BYTES: u64 = 1 << 20;

/// Returns the groups of generations to be merged, each the oldest first. `size_bytes` returns the size
/// of one.
pub(super) fn groups<T: Copy + Eq + Hash>(
    lists: &[Vec<T>],
    size_bytes: impl Fn(T) -> io::Result<u64>,
) -> io::Result<Vec<Vec<T>>> {
    let mut groups = Vec::new();
    for chain in chains(lists) {
        let sizes = chain.into_iter().map(|id| Ok((id, size_bytes(id)?)));
        groups.extend(worthwhile(&sizes.collect::<io::Result<Vec<_>>>()?));
    }
    Ok(groups)
}

/// The generations before and after one, in all lists; `None` at the ends of a list.
struct Neighbours<T> {
    before: HashSet<Option<T>>,
    after: HashSet<Option<T>>,
}

/// Returns the longest runs of generations that each list has as a whole and in this order, or not at
/// all.
fn chains<T: Copy + Eq + Hash>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut neighbours: HashMap<T, Neighbours<T>> = HashMap::new();
    for list in lists {
        for (index, id) in list.iter().enumerate() {
            let found = neighbours.entry(*id).or_insert_with(|| Neighbours {
                before: HashSet::new(),
                after: HashSet::new(),
            });
            let before = index.checked_sub(1).and_then(|index| list.get(index));
            found.before.insert(before.copied());
            found.after.insert(list.get(index + 1).copied());
        }
    }
    let are_joined = |older: T, younger: T| {
        let only = |set: &HashSet<Option<T>>, id: T| set.len() == 1 && set.contains(&Some(id));
        let older_joins = neighbours.get(&older);
        let younger_joins = neighbours.get(&younger);
        older_joins.is_some_and(|found| only(&found.after, younger))
            && younger_joins.is_some_and(|found| only(&found.before, older))
    };
    let mut seen = HashSet::new();
    let mut chains = Vec::new();
    for list in lists {
        for chain in list.chunk_by(|older, younger| are_joined(*older, *younger)) {
            if chain.first().is_some_and(|first| seen.insert(*first)) {
                chains.push(chain.to_vec());
            }
        }
    }
    chains
}

/// Splits a chain before each generation that is too large to be copied for the younger ones.
fn worthwhile<T: Copy>(chain: &[(T, u64)]) -> Vec<Vec<T>> {
    let mut groups: Vec<(Vec<T>, u64)> = Vec::new();
    for (id, bytes) in chain.iter().rev() {
        match groups.last_mut() {
            Some((group, sum_bytes)) if *bytes <= SMALL_BYTES + TIMES_MAX * *sum_bytes => {
                group.push(*id);
                *sum_bytes += bytes;
            }
            _ => groups.push((vec![*id], *bytes)),
        }
    }
    let groups = groups.into_iter().map(|(mut group, _)| {
        group.reverse();
        group
    });
    groups.filter(|group| group.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_whole_in_each_list_or_not_there() {
        // The disk went on from 5, a snapshot ends at 2, and another one branches off behind it.
        let disk = vec![1, 2, 3, 4, 5];
        let alone = std::slice::from_ref(&disk);
        assert_eq!(chains(alone), alone);
        let snapshot = vec![1, 2];
        assert_eq!(
            chains(&[disk.clone(), snapshot]),
            [vec![1, 2], vec![3, 4, 5]]
        );
        let branch = vec![1, 2, 7, 8];
        assert_eq!(
            chains(&[disk.clone(), branch]),
            [vec![1, 2], vec![3, 4, 5], vec![7, 8]]
        );
        // A merge that was cut short: one list has 9 instead of 2 and 3.
        let half = vec![1, 9, 4, 5];
        let found = chains(&[disk, half]);
        assert_eq!(found, [vec![1], vec![2, 3], vec![4, 5], vec![9]]);
        assert!(chains::<u8>(&[]).is_empty());
    }

    #[test]
    fn a_large_generation_is_not_copied_for_small_ones() {
        const MIB: u64 = 1 << 20;
        let sized = |sizes: &[u64]| {
            let chain = sizes.iter().map(|mib| mib * MIB).enumerate();
            worthwhile(&chain.collect::<Vec<_>>())
        };
        assert_eq!(sized(&[100, 1, 1]), [vec![1, 2]]);
        assert_eq!(sized(&[100, 40, 20]), [vec![0, 1, 2]]);
        assert_eq!(sized(&[5, 3, 100, 1, 1]), [vec![3, 4], vec![0, 1, 2]]);
        assert!(sized(&[100, 1]).is_empty() && sized(&[]).is_empty());
    }

    #[test]
    fn groups_have_sizes_of_their_own() {
        let lists = [vec![1_u8, 2, 3], vec![1]];
        let found = groups(&lists, |_| Ok(0)).expect("sizes");
        assert_eq!(found, [vec![2, 3]]);
        groups(&lists, |_| Err(io::ErrorKind::NotFound.into())).expect_err("no size");
    }
}
