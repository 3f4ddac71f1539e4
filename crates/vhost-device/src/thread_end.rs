use std::cell::OnceCell;

/// A function that is called when this value is dropped.
struct Ended(Box<dyn Fn()>);

impl Drop for Ended {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    /// Dropped when the thread ends, also by a panic.
    static ENDED: OnceCell<Ended> = const { OnceCell::new() };
}

/// Has a function called when this thread ends. Only the first call on a thread does so.
pub(crate) fn at_thread_end(ended: impl Fn() + 'static) {
    ENDED.with(|cell| {
        cell.get_or_init(|| Ended(Box::new(ended)));
    });
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_first_function_is_called_once_when_the_thread_ends() {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            for number in [1, 2] {
                let sender = sender.clone();
                at_thread_end(move || sender.send(number).unwrap());
            }
            sender.send(0).unwrap();
            panic!("the thread was told to panic");
        });
        assert!(thread.join().is_err());
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1]);
    }
}
