use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Work that one thread does for all threads that want its result at the same time.
#[derive(Debug)]
pub(crate) struct Flights<T> {
    open: Mutex<HashMap<u64, Arc<Flight<T>>>>,
}

#[derive(Debug)]
struct Flight<T> {
    outcome: Mutex<Outcome<T>>,
    landed: Condvar,
}

#[derive(Debug)]
enum Outcome<T> {
    Pending,
    Done(Arc<T>),
    /// The thread that did the work has panicked.
    Abandoned,
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
        }
    }
}

impl<T> Flights<T> {
    /// Returns the result of the work for `key`: of another thread if one does it now, or else of this one.
    pub(crate) fn join(&self, key: u64, work: impl Fn() -> T) -> Arc<T> {
        loop {
            let (flight, is_leader) = self.flight(key);
            if is_leader {
                let landing = Landing {
                    flights: self,
                    key,
                    flight: &flight,
                };
                let result = Arc::new(work());
                *lock(&flight.outcome) = Outcome::Done(Arc::clone(&result));
                drop(landing);
                return result;
            }
            if let Some(result) = flight.wait() {
                return result;
            }
        }
    }

    /// Returns the flight of a key, and true if it begins with this call.
    fn flight(&self, key: u64) -> (Arc<Flight<T>>, bool) {
        let mut open = lock(&self.open);
        if let Some(flight) = open.get(&key) {
            return (Arc::clone(flight), false);
        }
        let flight = Arc::new(Flight {
            outcome: Mutex::new(Outcome::Pending),
            landed: Condvar::new(),
        });
        open.insert(key, Arc::clone(&flight));
        (flight, true)
    }
}

impl<T> Flight<T> {
    /// Waits for the result; `None` if it was abandoned.
    fn wait(&self) -> Option<Arc<T>> {
        let mut outcome = lock(&self.outcome);
        loop {
            match &*outcome {
                Outcome::Done(result) => return Some(Arc::clone(result)),
                Outcome::Abandoned => return None,
                Outcome::Pending => {
                    let woken = self.landed.wait(outcome);
                    outcome = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// The end of a flight, also if its work panics.
struct Landing<'a, T> {
    flights: &'a Flights<T>,
    key: u64,
    flight: &'a Flight<T>,
}

impl<T> Drop for Landing<'_, T> {
    fn drop(&mut self) {
        lock(&self.flights.open).remove(&self.key);
        let mut outcome = lock(&self.flight.outcome);
        if matches!(*outcome, Outcome::Pending) {
            *outcome = Outcome::Abandoned;
        }
        self.flight.landed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn threads_of_one_moment_share_the_result() {
        let (flights, works, begun) = (Flights::default(), AtomicU32::new(0), Barrier::new(2));
        thread::scope(|scope| {
            let leader = scope.spawn(|| {
                flights.join(7, || {
                    begun.wait();
                    // The other threads wait once they hold the flight, or join one that has landed.
                    while Arc::strong_count(&flights.open.lock().unwrap()[&7]) < 2 + 4 {
                        thread::yield_now();
                    }
                    works.fetch_add(1, Ordering::Relaxed)
                })
            });
            begun.wait();
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*flights.join(7, || 9), 0));
            }
            assert_eq!(*leader.join().unwrap(), 0);
        });
        assert_eq!(works.load(Ordering::Relaxed), 1);
        assert_eq!(*flights.join(7, || 5), 5);
    }

    #[test]
    fn a_thread_that_panics_leaves_the_work_to_another() {
        let (flights, begun) = (Flights::default(), Barrier::new(2));
        thread::scope(|scope| {
            let leader = scope.spawn(|| {
                let failed = catch_unwind(AssertUnwindSafe(|| {
                    flights.join(7, || -> u32 {
                        begun.wait();
                        while Arc::strong_count(&flights.open.lock().unwrap()[&7]) < 2 + 1 {
                            thread::yield_now();
                        }
                        panic!("as a source might")
                    })
                }));
                assert!(failed.is_err());
            });
            begun.wait();
            assert_eq!(*flights.join(7, || 5), 5);
            leader.join().unwrap();
        });
    }
}
