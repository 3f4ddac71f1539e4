//! The thread that calls back into Python.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use msb_sdk_binding::{Failure, Reply};
use pyo3::prelude::*;

use crate::failure::exception;
use crate::handle::{NativeHandle, reply_tuple};

/// The result of a call, for the Python function that waits for it.
pub(crate) struct Callback {
    pub(crate) function: Py<PyAny>,
    pub(crate) handle: NativeHandle,
    pub(crate) result: Result<Reply, Failure>,
}

/// A thread that calls Python functions, so that the client's runtime never waits for the
/// interpreter. It starts with the first call.
#[derive(Default)]
pub(crate) struct Callbacks {
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Running(Sender<Callback>, JoinHandle<()>),
    Ended,
}

impl Callbacks {
    /// Has the function called. After [`Callbacks::end`] it is dropped.
    pub(crate) fn send(&self, callback: Callback) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Idle) {
            *state = start();
        }
        if let State::Running(sender, _) = &*state {
            // The receiver lives as long as the thread, which ends with the sender.
            let _sent = sender.send(callback);
        }
    }

    /// Ends the thread after the functions that were sent. It must not be called with the
    /// interpreter attached.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::replace(&mut *state, State::Ended);
        drop(state);
        if let State::Running(sender, thread) = ended {
            drop(sender);
            if thread.thread().id() != thread::current().id() {
                // A panic in a callback was reported by Python already.
                let _ended = thread.join();
            }
        }
    }
}

fn start() -> State {
    let (sender, receiver) = mpsc::channel::<Callback>();
    let thread = thread::Builder::new().name("msb-callbacks".to_owned());
    let spawned = thread.spawn(move || {
        for callback in receiver {
            if Python::try_attach(|py| callback.call(py)).is_none() {
                // The interpreter ends: nobody waits.
                break;
            }
        }
    });
    spawned.map_or(State::Ended, |thread| State::Running(sender, thread))
}

impl Callback {
    fn call(self, py: Python<'_>) {
        let Self {
            function,
            handle,
            result,
        } = self;
        let argument = match result {
            Ok(reply) => reply_tuple(py, &handle, reply).map(Bound::into_any),
            Err(failure) => Ok(exception(py, failure)
                .into_value(py)
                .into_bound(py)
                .into_any()),
        };
        let called = argument.and_then(|argument| function.bind(py).call1((argument,)));
        if let Err(error) = called {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    }
}
