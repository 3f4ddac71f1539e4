//! A machine whose processes are scripts in the memory of this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use containerd_protocol::metrics::{Metrics, Pids};
use fs_err as fs;
use msb_containerd_shim::{
    Container, Exec, Exit, Pod, PodError, ProcessName, Running, TerminalSize,
};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::sync::{mpsc, watch};

use crate::script::Script;

/// The pid that every task of the machine reports: above that of any process.
pub(crate) const VMM_PID: u32 = 5_000_000;

/// A machine. Its clones are the same machine.
#[derive(Clone)]
pub(crate) struct ScriptedPod(pub(crate) Arc<State>);

/// The state of a machine.
pub(crate) struct State {
    pub(crate) containers: Mutex<HashMap<String, Script>>,
    processes: Mutex<HashMap<ProcessName, mpsc::UnboundedSender<u32>>>,
    is_over: watch::Sender<bool>,
}

impl ScriptedPod {
    pub(crate) fn new() -> Self {
        Self(Arc::new(State {
            containers: Mutex::default(),
            processes: Mutex::default(),
            is_over: watch::Sender::new(false),
        }))
    }

    /// Ends the machine as a crash does.
    pub(crate) fn die(&self) {
        self.0.is_over.send_replace(true);
    }

    fn run(&self, name: ProcessName, script: Script) -> Running {
        let (signals, received) = mpsc::unbounded_channel();
        lock(&self.0.processes).insert(name.clone(), signals);
        let (stdin, input) = tokio::io::duplex(64 << 10);
        let (output, stdout) = tokio::io::duplex(64 << 10);
        let (pod, mut is_over) = (self.clone(), self.0.is_over.subscribe());
        let is_silent = script == Script::Silent;
        let exit = tokio::spawn(async move {
            let exit = tokio::select! {
                exit = perform(script, input, output, received) => exit,
                _ = is_over.wait_for(|is_over| *is_over) => killed(9),
            };
            let mut processes = lock(&pod.0.processes);
            processes.remove(&name);
            // Nothing of a container outlives its main process.
            if name.exec_id.is_none() {
                let of_container = processes
                    .iter()
                    .filter(|(other, _)| other.container_id == name.container_id);
                for (_, signals) in of_container {
                    let _ = signals.send(9);
                }
            }
            drop(processes);
            exit
        });
        Running {
            stdin: Some(Box::new(stdin)),
            stdout: Some(Box::new(stdout)),
            stderr: None,
            exit: Box::pin(async move {
                if is_silent {
                    std::future::pending::<()>().await;
                }
                exit.await.unwrap_or(killed(9))
            }),
        }
    }
}

impl Pod for ScriptedPod {
    async fn boot(&self, _first: &Container) -> Result<(), PodError> {
        Ok(())
    }

    fn vmm_pid(&self) -> u32 {
        VMM_PID
    }

    async fn ended(&self) {
        let _ = self
            .0
            .is_over
            .subscribe()
            .wait_for(|is_over| *is_over)
            .await;
    }

    async fn create(&self, container: &Container) -> Result<(), PodError> {
        let config = fs::read(container.bundle.join("config.json"));
        let config = config.map_err(|error| PodError::Other(error.into()))?;
        if config.windows(7).any(|words| words == b"refused") {
            return Err(PodError::Refused("the specification is refused".to_owned()));
        }
        let script = Script::of_config(&config);
        lock(&self.0.containers).insert(container.id.clone(), script);
        Ok(())
    }

    async fn start(&self, container: &Container) -> Result<Running, PodError> {
        let script = lock(&self.0.containers).get(&container.id).cloned();
        let script = script.ok_or_else(|| PodError::NotFound(container.id.clone()))?;
        start(
            self,
            ProcessName {
                container_id: container.id.clone(),
                exec_id: None,
            },
            script,
        )
        .await
    }

    async fn exec(&self, exec: &Exec) -> Result<Running, PodError> {
        start(self, exec.name.clone(), Script::of_process(&exec.spec)).await
    }

    async fn signal(&self, process: &ProcessName, signal: u32, all: bool) -> Result<(), PodError> {
        let processes = lock(&self.0.processes);
        let meant = |name: &ProcessName| {
            name == process || all && name.container_id == process.container_id
        };
        let found: Vec<_> = processes.iter().filter(|(name, _)| meant(name)).collect();
        if found.is_empty() {
            return Err(PodError::NotFound(process.to_string()));
        }
        for (_, signals) in found {
            let _ = signals.send(signal);
        }
        Ok(())
    }

    async fn resize(&self, _process: &ProcessName, _size: TerminalSize) -> Result<(), PodError> {
        Ok(())
    }

    async fn delete(&self, container_id: &str) -> Result<(), PodError> {
        lock(&self.0.containers).remove(container_id);
        Ok(())
    }

    async fn stats(&self, container_id: &str) -> Result<Metrics, PodError> {
        let processes = lock(&self.0.processes);
        let current = processes
            .keys()
            .filter(|name| name.container_id == container_id)
            .count();
        Ok(Metrics {
            pids: Some(Pids {
                current: current.try_into().unwrap_or(u64::MAX),
                limit: 0,
            }),
            ..Metrics::default()
        })
    }

    async fn update(&self, _container_id: &str, resources: &[u8]) -> Result<(), PodError> {
        match resources {
            b"" => Err(PodError::Refused("there are no limits".to_owned())),
            _ => Ok(()),
        }
    }

    async fn pause(&self, _container_id: &str) -> Result<(), PodError> {
        Ok(())
    }

    async fn resume(&self, _container_id: &str) -> Result<(), PodError> {
        Ok(())
    }

    async fn shut_down(&self) {
        self.die();
    }
}

async fn start(pod: &ScriptedPod, name: ProcessName, script: Script) -> Result<Running, PodError> {
    match script {
        Script::Broken => Err(PodError::Other("the program does not exist".into())),
        Script::Hanging => std::future::pending().await,
        script => Ok(pod.run(name, script)),
    }
}

async fn perform(
    script: Script,
    mut input: DuplexStream,
    mut output: DuplexStream,
    mut signals: mpsc::UnboundedReceiver<u32>,
) -> Exit {
    let is_stubborn = script == Script::Stubborn;
    let signal = async {
        loop {
            match signals.recv().await {
                Some(signal @ 9) => return killed(signal),
                Some(signal) if !is_stubborn && signal > 0 => return killed(signal),
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    };
    let work = async {
        match script {
            Script::Exit(status) => return exited(status),
            Script::Sleep(time) => tokio::time::sleep(time).await,
            Script::Print(text) => drop(output.write_all(text.as_bytes()).await),
            Script::Fill(bytes) => fill(&mut output, bytes).await,
            Script::Cat => drop(tokio::io::copy(&mut input, &mut output).await),
            Script::OutOfMemory => {
                return Exit {
                    is_out_of_memory: true,
                    ..killed(9)
                };
            }
            Script::Stubborn | Script::Silent | Script::Broken | Script::Hanging => {
                std::future::pending::<()>().await;
            }
        }
        exited(0)
    };
    tokio::select! {
        exit = work => exit,
        exit = signal => exit,
    }
}

/// Writes bytes whose values repeat after 251.
async fn fill(output: &mut DuplexStream, bytes: usize) {
    let pattern: Vec<u8> = (0..=250).cycle().take(251 * 64).collect();
    let mut left = bytes;
    while left > 0 {
        let part = pattern.get(..left.min(pattern.len())).unwrap_or_default();
        if output.write_all(part).await.is_err() {
            return;
        }
        left -= part.len();
    }
}

fn exited(status: u32) -> Exit {
    Exit {
        status,
        is_out_of_memory: false,
    }
}

fn killed(signal: u32) -> Exit {
    exited(128 + signal)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
