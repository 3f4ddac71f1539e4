//! The memory that a thread takes, counted by the allocator of this program.

#![expect(unsafe_code, reason = "every allocator is unsafe code")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// Bytes that this thread holds, since [`with_peak`] was called. Negative if it has freed older ones.
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
    /// Most bytes that it held at once.
    static PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// Returns what `work` returns, and the most memory that this thread held for it at once, in bytes.
/// Memory that other threads and libraries in C allocate is not counted.
pub(crate) fn with_peak<T>(work: impl FnOnce() -> T) -> (T, i64) {
    HELD_BYTES.set(0);
    PEAK_BYTES.set(0);
    let value = work();
    (value, PEAK_BYTES.get())
}

/// The system's allocator, with a count for each thread.
struct Counting;

/// Counts an allocation that succeeded, and passes it on. Neither cell has a destructor, so this allocates
/// nothing and works until the thread's end.
fn counted(allocation: *mut u8, more_bytes: usize, fewer_bytes: usize) -> *mut u8 {
    if !allocation.is_null() {
        count(more_bytes, fewer_bytes);
    }
    allocation
}

fn count(more_bytes: usize, fewer_bytes: usize) {
    let held = HELD_BYTES.get() + more_bytes as i64 - fewer_bytes as i64;
    HELD_BYTES.set(held);
    PEAK_BYTES.set(PEAK_BYTES.get().max(held));
}

// SAFETY: every call is the system allocator's, with the caller's arguments and result unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises of the same function.
        counted(unsafe { System.alloc(layout) }, layout.size(), 0)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises of the same function.
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size(), 0)
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the promises of the same function.
        let new = unsafe { System.realloc(old, layout, size) };
        counted(new, size, layout.size())
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of the same function.
        unsafe { System.dealloc(old, layout) };
        count(0, layout.size());
    }
}
