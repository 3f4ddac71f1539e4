//! Cuts and flushes of a served disk while the machine runs.
//!
//! A thread of its own makes cuts, with the jail of the one that serves the disk: the supervisor's may
//! not open its files. Both threads take turns, so a cut lies between two requests of the VMM. If the
//! VMM's own threads call the disk, that thread is the only one that may open its files, and it flushes
//! the disk, too.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use generations::{FileStorage, GenerationId, State};
use tokio::sync::oneshot;

use crate::log::log_line;

/// The number of bytes of discarded blocks that a flush gives back: all. The machine may end after any
/// flush, and with it this process.
const RECLAIM_BYTES: u64 = u64::MAX;

/// A disk that one thread serves and another one cuts.
#[derive(Debug, Clone)]
pub(crate) struct SharedDisk {
    size_bytes: u64,
    disk: Arc<Mutex<generations::Disk<FileStorage>>>,
}

impl SharedDisk {
    pub(crate) fn new(disk: generations::Disk<FileStorage>) -> Self {
        Self {
            size_bytes: disk.size_bytes(),
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    /// Returns the disk for a device that holds its lock for the time of a request.
    pub(crate) fn guarded(&self) -> Arc<Mutex<generations::Disk<FileStorage>>> {
        Arc::clone(&self.disk)
    }

    /// Returns the size of the disk, in bytes. It stays the same while the disk is served.
    pub(crate) const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Waits for the disk. A thread that panicked may have left it half changed.
    pub(crate) fn lock(&self) -> io::Result<MutexGuard<'_, generations::Disk<FileStorage>>> {
        let broken_off = |_| io::Error::other("the thread that changed the disk was aborted");
        self.disk.lock().map_err(broken_off)
    }
}

impl served_disk::Disk for SharedDisk {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.lock()?.read(buf, offset_bytes)?)
    }

    fn read_vectored(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        Ok(self.lock()?.read_vectored(buffers, offset_bytes)?)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.lock()?.write(bytes, offset_bytes)?)
    }

    fn write_vectored(&mut self, buffers: &mut [IoSlice<'_>], offset_bytes: u64) -> io::Result<()> {
        Ok(self.lock()?.write_vectored(buffers, offset_bytes)?)
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        Ok(self.lock()?.zero(offset_bytes, length_bytes)?)
    }

    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        Ok(self.lock()?.discard(offset_bytes, length_bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.lock()?.flush()?)
    }
}

/// A reason why a disk was not cut.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CutDiskError {
    /// The disk has too many generations.
    #[error("the writable disk has {count} generations, and the limit is {limit}")]
    TooMany { count: usize, limit: usize },
    /// The disk cannot be cut, or what was cut cannot be made durable.
    #[error("cannot cut the writable disk: {0}")]
    Disk(String),
    /// Changes of the disk cannot be made durable.
    #[error("cannot flush the writable disk: {0}")]
    Flush(String),
    /// The disk cannot be set to another state.
    #[error("cannot switch the writable disk to another state: {0}")]
    RollBack(String),
    /// The disk cannot use the generation that others were merged into.
    #[error("cannot replace merged generations of the writable disk: {0}")]
    Merge(String),
    /// The machine ends.
    #[error("the disk server has stopped")]
    Ended,
}

type Outcome<T> = Result<T, CutDiskError>;

/// The end of the thread that cuts a disk for those who give it orders.
#[derive(Debug, Clone)]
pub(crate) struct DiskOrders(Sender<Order>);

/// The thread's end.
#[derive(Debug)]
pub(crate) struct DiskWork(Receiver<Order>);

/// Returns both ends.
pub(crate) fn disk_orders() -> (DiskOrders, DiskWork) {
    let (sender, receiver) = channel();
    (DiskOrders(sender), DiskWork(receiver))
}

#[derive(Debug)]
enum Order {
    Cut(CutOrder),
    Flush(SyncSender<Outcome<()>>),
    RollBack(State, oneshot::Sender<Outcome<()>>),
    ReplaceMerged(Merged, oneshot::Sender<Outcome<()>>),
}

/// Generations, the oldest first, and the one that they were merged into.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) from: Vec<GenerationId>,
    pub(crate) into: GenerationId,
}

/// The order to cut the disk.
#[derive(Debug)]
struct CutOrder {
    generations_max: usize,
    cut: oneshot::Sender<Outcome<State>>,
    durable: oneshot::Sender<Outcome<()>>,
}

/// A cut under way.
#[derive(Debug)]
pub(crate) struct Cutting {
    cut: oneshot::Receiver<Outcome<State>>,
    durable: oneshot::Receiver<Outcome<()>>,
}

impl DiskOrders {
    /// Begins a cut, after which the disk may have `generations_max` generations.
    pub(crate) fn begin(&self, generations_max: usize) -> Cutting {
        let (cut, cut_told) = oneshot::channel();
        let (durable, durable_told) = oneshot::channel();
        let order = CutOrder {
            generations_max,
            cut,
            durable,
        };
        // Without a thread nobody has the other ends, and the receivers say so.
        let _ = self.0.send(Order::Cut(order));
        Cutting {
            cut: cut_told,
            durable: durable_told,
        }
    }

    /// Sets the disk to a state, and waits until that is durable. The disk keeps its size: a smaller state
    /// is followed by zeros. Nobody may use the disk meanwhile.
    pub(crate) async fn roll_back(&self, state: State) -> Outcome<()> {
        self.ordered(|told| Order::RollBack(state, told)).await
    }

    /// Has the disk use the generation that others were merged into, and waits until that is durable.
    pub(crate) async fn replace_merged(&self, merged: Merged) -> Outcome<()> {
        self.ordered(|told| Order::ReplaceMerged(merged, told))
            .await
    }

    async fn ordered(
        &self,
        order: impl FnOnce(oneshot::Sender<Outcome<()>>) -> Order,
    ) -> Outcome<()> {
        let (told, done) = oneshot::channel();
        let sent = self.0.send(order(told));
        sent.map_err(|_| CutDiskError::Ended)?;
        done.await.unwrap_or(Err(CutDiskError::Ended))
    }

    /// Makes all changes of the disk durable that were made before the call. It waits for that.
    pub(crate) fn flush(&self) -> Outcome<()> {
        let (told, flushed) = sync_channel(1);
        let sent = self.0.send(Order::Flush(told));
        sent.map_err(|_| CutDiskError::Ended)?;
        flushed.recv().unwrap_or(Err(CutDiskError::Ended))
    }
}

impl Cutting {
    /// Returns the disk's state once it is cut: writes that follow do not change it.
    pub(crate) async fn state(&mut self) -> Outcome<State> {
        (&mut self.cut).await.unwrap_or(Err(CutDiskError::Ended))
    }

    /// Waits until the state is durable.
    pub(crate) async fn durable(self) -> Outcome<()> {
        self.durable.await.unwrap_or(Err(CutDiskError::Ended))
    }
}

impl DiskWork {
    /// Cuts and flushes the disk whenever it is told to, until nobody is left who could.
    pub(crate) fn carry_out(self, disk: &SharedDisk) {
        for order in self.0 {
            match order {
                Order::Cut(order) => order.carry_out(disk),
                Order::Flush(told) => {
                    // Whoever asked may be gone.
                    let _ = told.send(flush(disk));
                }
                Order::RollBack(state, told) => {
                    // Whoever asked may be gone.
                    let _ = told.send(roll_back(disk, &state));
                }
                Order::ReplaceMerged(merged, told) => {
                    // Whoever asked may be gone.
                    let _ = told.send(replace_merged(disk, &merged));
                }
            }
        }
    }
}

impl CutOrder {
    fn carry_out(self, disk: &SharedDisk) {
        let mut disk = match disk.lock() {
            Ok(disk) => disk,
            Err(error) => {
                // Whoever asked may be gone; so it is below.
                let _ = self.cut.send(Err(cannot_cut(&error)));
                return;
            }
        };
        let cut = cut(&mut disk, self.generations_max);
        let is_cut = cut.is_ok();
        let _ = self.cut.send(cut);
        if is_cut {
            let flushed = disk.flush().map_err(|error| cannot_cut(&error));
            let _ = self.durable.send(flushed);
        }
    }
}

fn cut(disk: &mut generations::Disk<FileStorage>, generations_max: usize) -> Outcome<State> {
    let count = disk.generation_count();
    if count >= generations_max {
        return Err(CutDiskError::TooMany {
            count,
            limit: generations_max,
        });
    }
    disk.cut().map_err(|error| cannot_cut(&error))
}

/// Flushes a disk, and gives back the space that the guest discarded.
fn flush(disk: &SharedDisk) -> Outcome<()> {
    let failed = |error: &dyn ToString| CutDiskError::Flush(error.to_string());
    let mut disk = disk.lock().map_err(|error| failed(&error))?;
    disk.flush().map_err(|error| failed(&error))?;
    if let Err(error) = disk.reclaim(RECLAIM_BYTES) {
        // Blocks that stay allocated cost space and nothing else.
        log_line(&format!("cannot free discarded blocks: {error}"));
    }
    Ok(())
}

fn roll_back(disk: &SharedDisk, state: &State) -> Outcome<()> {
    let failed = |error: &dyn ToString| CutDiskError::RollBack(error.to_string());
    let size_bytes = disk.size_bytes();
    if state.size_bytes > size_bytes {
        // The VMM has told the guest the size.
        let reason = format!(
            "it has {} bytes, and the disk {size_bytes}",
            state.size_bytes
        );
        return Err(CutDiskError::RollBack(reason));
    }
    let mut disk = disk.lock().map_err(|error| failed(&error))?;
    disk.roll_back(state).map_err(|error| failed(&error))?;
    disk.grow(size_bytes).map_err(|error| failed(&error))?;
    disk.flush().map_err(|error| failed(&error))
}

fn replace_merged(disk: &SharedDisk, merged: &Merged) -> Outcome<()> {
    let failed = |error: &dyn ToString| CutDiskError::Merge(error.to_string());
    let mut disk = disk.lock().map_err(|error| failed(&error))?;
    let replaced = disk.replace_merged(&merged.from, merged.into);
    replaced.map_err(|error| failed(&error))?;
    disk.flush().map_err(|error| failed(&error))
}

fn cannot_cut(error: &dyn ToString) -> CutDiskError {
    CutDiskError::Disk(error.to_string())
}

#[cfg(test)]
mod tests {
    use generations::Pool;

    use super::*;

    const SIZE_BYTES: u64 = 1 << 20;

    #[tokio::test]
    async fn a_cut_between_two_writes_has_the_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let mut disk = SharedDisk::new(pool.open_disk(id).expect("opened"));
        let (orders, work) = disk_orders();
        let cutter = std::thread::spawn({
            let disk = disk.clone();
            move || work.carry_out(&disk)
        });
        served_disk::Disk::write(&mut disk, b"first", 0).expect("written");
        let mut cutting = orders.begin(9);
        let state = cutting.state().await.expect("cut");
        served_disk::Disk::write(&mut disk, b"later", 0).expect("written");
        cutting.durable().await.expect("flushed");
        let mut bytes = [0; 5];
        let snapshot = pool.open_snapshot(&state).expect("opened");
        snapshot.read(&mut bytes, 0).expect("read");
        assert_eq!(&bytes, b"first");
        let refused = orders.begin(2).state().await;
        let error = refused.expect_err("two are there").to_string();
        assert!(error.contains("has 2 generations"), "{error}");
        drop(orders);
        cutter.join().expect("no panic");
    }

    #[tokio::test]
    async fn a_served_disk_that_is_rolled_back_keeps_its_size() {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let mut disk = pool.open_disk(id).expect("opened");
        disk.write(b"first", 0).expect("written");
        let small = disk.cut().expect("cut");
        disk.grow(2 * SIZE_BYTES).expect("grown");
        disk.write(b"later", 0).expect("written");
        disk.write(b"beyond", SIZE_BYTES).expect("written");
        let large = disk.cut().expect("cut");
        let shared = SharedDisk::new(disk);
        let (orders, work) = disk_orders();
        let worker = std::thread::spawn({
            let shared = shared.clone();
            move || work.carry_out(&shared)
        });
        let read = |offset_bytes| {
            let mut bytes = [0; 6];
            let read = shared.lock().expect("whole").read(&mut bytes, offset_bytes);
            read.map(|()| bytes).expect("read")
        };
        orders.roll_back(small).await.expect("rolled back");
        assert_eq!((read(0), read(SIZE_BYTES)), (*b"first\0", [0; 6]));
        orders.roll_back(large.clone()).await.expect("rolled forth");
        assert_eq!((read(0), read(SIZE_BYTES)), (*b"later\0", *b"beyond"));
        let mut longer = large;
        longer.size_bytes *= 2;
        let refused = orders.roll_back(longer).await.expect_err("it is longer");
        assert!(refused.to_string().contains("4194304 bytes"), "{refused}");
        drop(orders);
        worker.join().expect("no panic");
    }

    #[tokio::test]
    async fn a_served_disk_uses_what_its_generations_were_merged_into() {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let mut disk = pool.open_disk(id).expect("opened");
        for letter in *b"abc" {
            let offset_bytes = 4096 * u64::from(letter % 2);
            disk.write(&[letter; 4096], offset_bytes).expect("written");
            disk.cut().expect("cut");
        }
        disk.flush().expect("flushed");
        let mut shared = SharedDisk::new(disk);
        let (orders, work) = disk_orders();
        let worker = std::thread::spawn({
            let shared = shared.clone();
            move || work.carry_out(&shared)
        });
        let from = pool.sealed_state(id).expect("read").generations;
        let into = pool.merge(&from).expect("merged");
        served_disk::Disk::write(&mut shared, b"while", 8192).expect("written");
        let merged = |from: &[GenerationId], into| Merged {
            from: from.to_vec(),
            into,
        };
        let replaced = orders.replace_merged(merged(&from, into)).await;
        replaced.expect("replaced");
        // Nothing lists the three any more, and the disk needs none of their files.
        assert!(!pool.remove_unlisted(&[]).expect("removed").is_empty());
        let mut bytes = [0; 8197];
        let read = shared.lock().expect("whole").read(&mut bytes, 0);
        read.expect("read");
        let expected = [[b'b'; 4096], [b'c'; 4096]].concat();
        assert_eq!(bytes.split_at(8192), (&*expected, &b"while"[..]));
        assert_eq!(shared.lock().expect("whole").generation_count(), 2);
        let again = orders.replace_merged(merged(&from, into)).await;
        let error = again.expect_err("it has none of them").to_string();
        assert!(error.contains("cannot replace merged"), "{error}");
        drop(orders);
        worker.join().expect("no panic");
    }

    #[tokio::test]
    async fn without_a_thread_nothing_is_waited_for() {
        let (orders, work) = disk_orders();
        drop(work);
        let mut cutting = orders.begin(9);
        assert!(matches!(cutting.state().await, Err(CutDiskError::Ended)));
        assert!(matches!(cutting.durable().await, Err(CutDiskError::Ended)));
    }
}
