//! Random calls, one after the other, beside a model of one pod.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tokio::runtime::Builder;
use ttrpc::Code;

use crate::harness::Harness;

/// A call on one of the containers of the pod, or on one of its further processes.
#[derive(Debug, Clone)]
enum Call {
    Create(&'static str),
    Exec(&'static str, &'static str),
    Start(&'static str, &'static str),
    Kill(&'static str, &'static str),
    Delete(&'static str, &'static str),
    State(&'static str, &'static str),
    /// Kills the sandbox, and with it the machine.
    KillSandbox,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Created,
    Running,
    Ended,
}

/// The pod as it has to be: phases by container and process, the main one without a name.
#[derive(Default)]
struct Model {
    phases: BTreeMap<(&'static str, &'static str), Phase>,
    is_over: bool,
    events: Vec<String>,
}

impl Model {
    fn phase(&self, id: &'static str, exec_id: &'static str) -> Option<Phase> {
        self.phases.get(&(id, exec_id)).copied()
    }

    fn log(&mut self, verb: &str, id: &str, exec_id: &str, rest: &str) {
        let slash = if exec_id.is_empty() { "" } else { "/" };
        self.events
            .push(format!("{verb} {id}{slash}{exec_id}{rest}"));
    }

    /// Ends a process, and the further processes of a container before it.
    fn end(&mut self, id: &'static str, exec_id: &'static str) {
        if exec_id.is_empty() {
            for further in ["e", "f"] {
                self.end(id, further);
            }
        }
        if matches!(
            self.phase(id, exec_id),
            Some(Phase::Created | Phase::Running)
        ) {
            self.phases.insert((id, exec_id), Phase::Ended);
            self.log("exit", id, exec_id, " 137");
        }
    }

    /// Returns the outcome that a call has to have, and carries it out.
    fn apply(&mut self, call: &Call) -> Result<(), Code> {
        match *call {
            Call::Create(id) => self.create(id),
            Call::Exec(id, exec_id) => self.exec(id, exec_id),
            Call::Start(id, exec_id) => self.start(id, exec_id),
            Call::State(id, exec_id) => self.phase(id, exec_id).map(|_| ()).ok_or(Code::NotFound),
            Call::Kill(id, exec_id) => match self.phase(id, exec_id) {
                None | Some(Phase::Ended) => Err(Code::NotFound),
                Some(Phase::Created | Phase::Running) => {
                    self.end(id, exec_id);
                    Ok(())
                }
            },
            Call::Delete(id, exec_id) => self.delete(id, exec_id),
            Call::KillSandbox if self.is_over => Err(Code::NotFound),
            Call::KillSandbox => {
                self.is_over = true;
                for id in ["a", "b", "s"] {
                    self.end(id, "");
                }
                Ok(())
            }
        }
    }

    fn create(&mut self, id: &'static str) -> Result<(), Code> {
        if self.phase(id, "").is_some() {
            return Err(Code::AlreadyExists);
        }
        if self.is_over {
            return Err(Code::FailedPrecondition);
        }
        self.phases.insert((id, ""), Phase::Created);
        self.log("create", id, "", "");
        Ok(())
    }

    fn exec(&mut self, id: &'static str, exec_id: &'static str) -> Result<(), Code> {
        match (self.phase(id, ""), self.phase(id, exec_id)) {
            (None, _) => Err(Code::NotFound),
            (_, Some(_)) => Err(Code::AlreadyExists),
            (Some(Phase::Ended), None) => Err(Code::FailedPrecondition),
            (Some(_), None) => {
                self.phases.insert((id, exec_id), Phase::Created);
                self.log("added", id, exec_id, "");
                Ok(())
            }
        }
    }

    fn start(&mut self, id: &'static str, exec_id: &'static str) -> Result<(), Code> {
        let main = self.phase(id, "");
        match self.phase(id, exec_id) {
            None => Err(Code::NotFound),
            Some(Phase::Running | Phase::Ended) => Err(Code::FailedPrecondition),
            Some(Phase::Created) if !exec_id.is_empty() && main != Some(Phase::Running) => {
                Err(Code::FailedPrecondition)
            }
            Some(Phase::Created) => {
                self.phases.insert((id, exec_id), Phase::Running);
                self.log("start", id, exec_id, "");
                Ok(())
            }
        }
    }

    fn delete(&mut self, id: &'static str, exec_id: &'static str) -> Result<(), Code> {
        match self.phase(id, exec_id) {
            None => Err(Code::NotFound),
            Some(Phase::Running) => Err(Code::FailedPrecondition),
            Some(Phase::Created | Phase::Ended) => {
                self.end(id, exec_id);
                if exec_id.is_empty() {
                    self.phases.retain(|(container, _), _| *container != id);
                    self.log("delete", id, "", " 137");
                } else {
                    self.phases.remove(&(id, exec_id));
                }
                Ok(())
            }
        }
    }
}

/// Makes a call. After a signal it waits for the end, so that the next call meets a known state.
async fn perform(shim: &Harness, call: &Call) -> Result<(), Code> {
    let tasks = &shim.tasks;
    match *call {
        Call::Create(id) => tasks
            .create(&shim.pod_request(id, "sleep", "s"))
            .await
            .map(|_| ()),
        Call::Exec(id, exec_id) => tasks.exec(id, exec_id, "sleep").await.map(|_| ()),
        Call::Start(id, exec_id) => tasks.start(id, exec_id).await.map(|_| ()),
        Call::State(id, exec_id) => tasks.state(id, exec_id).await.map(|_| ()),
        Call::Delete(id, exec_id) => tasks.delete(id, exec_id).await.map(|_| ()),
        Call::Kill(id, exec_id) => {
            tasks.kill(id, exec_id, 9).await?;
            tasks.wait(id, exec_id).await.map(|_| ())
        }
        Call::KillSandbox => {
            tasks.kill("s", "", 9).await?;
            tasks.wait("s", "").await.map(|_| ())
        }
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let id = || prop::sample::select(vec!["a", "b"]);
    let exec_id = || prop::sample::select(vec!["e", "f"]);
    let any_id = || prop::sample::select(vec!["", "", "e", "f"]);
    let call = prop_oneof![
        4 => id().prop_map(Call::Create),
        4 => (id(), exec_id()).prop_map(|(id, exec_id)| Call::Exec(id, exec_id)),
        6 => (id(), any_id()).prop_map(|(id, exec_id)| Call::Start(id, exec_id)),
        3 => (id(), any_id()).prop_map(|(id, exec_id)| Call::Kill(id, exec_id)),
        3 => (id(), any_id()).prop_map(|(id, exec_id)| Call::Delete(id, exec_id)),
        1 => (id(), any_id()).prop_map(|(id, exec_id)| Call::State(id, exec_id)),
        1 => Just(Call::KillSandbox),
    ];
    prop::collection::vec(call, 1..60)
}

/// Returns the events of each container, in their order. Those of two containers that end at once have no order.
fn by_container(events: &[String]) -> BTreeMap<char, Vec<String>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        let id = event
            .split(' ')
            .nth(1)
            .and_then(|name| name.chars().next())
            .expect("it names a container");
        all.entry(id).or_default().push(event.clone());
    }
    // Further processes of a container that end at once have no order either.
    for events in all.values_mut() {
        for run in events.chunk_by_mut(|one, two| {
            [one, two]
                .iter()
                .all(|line| line.contains('/') && line.starts_with("exit"))
        }) {
            run.sort();
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_calls_end_as_the_model_says(calls in calls()) {
        let runtime = Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(async {
            let shim = Harness::new().await;
            let mut model = Model::default();
            shim.run(&shim.pod_request("s", "pause", "s")).await;
            model.events = vec!["create s".to_owned(), "start s".to_owned()];
            model.phases.insert(("s", ""), Phase::Running);
            for call in calls.iter().chain([&Call::KillSandbox]) {
                let expected = model.apply(call);
                let found = perform(&shim, call).await;
                assert_eq!(found, expected, "{call:?}");
            }
            shim.tasks.delete("s", "").await.expect("it has ended");
            shim.containerd.wait_for("delete s 137").await;
            let mut lines = shim.containerd.lines();
            assert_eq!(lines.pop().as_deref(), Some("delete s 137"));
            assert_eq!(by_container(&lines), by_container(&model.events));
        });
    }
}
