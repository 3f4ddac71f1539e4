//! Work on many files that waits for the disk.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// The number of threads. A filesystem makes the syncs of several threads durable together.
const THREADS: usize = 16;

/// Does work that waits for syncs on each item, several at once. All of it has ended when the first error
/// is returned.
///
/// # Errors
/// The first error of an item, in their order.
pub fn each_at_once<T: Sync, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if let [only] = items {
        return work(only);
    }
    let length = items.len().div_ceil(THREADS).max(1);
    let work = &work;
    scope(|scope| {
        let parts = items.chunks(length);
        let begun: Vec<_> = parts
            .map(|part| {
                let worker = move || part.iter().try_for_each(work);
                (part, Builder::new().spawn_scoped(scope, worker))
            })
            .collect();
        let ended = begun.into_iter().map(|(part, worker)| match worker {
            Ok(worker) => worker.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The host has no room for another thread.
            Err(_) => part.iter().try_for_each(work),
        });
        let outcomes: Vec<_> = ended.collect();
        outcomes.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn each_item_is_worked_on_and_an_error_is_told() {
        let sum = AtomicU32::new(0);
        for count in [0, 1, 5, 100] {
            let items: Vec<u32> = (1..=count).collect();
            sum.store(0, Ordering::Relaxed);
            let worked = each_at_once(&items, |item| {
                sum.fetch_add(*item, Ordering::Relaxed);
                if *item == 100 { Err(*item) } else { Ok(()) }
            });
            assert_eq!(sum.load(Ordering::Relaxed), count * (count + 1) / 2);
            assert_eq!(worked.is_err(), count == 100);
        }
    }
}
