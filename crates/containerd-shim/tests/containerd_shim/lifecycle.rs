//! One container: its states, its events, and calls that do not fit.

use std::time::Duration;

use containerd_protocol::Any;
use containerd_protocol::Empty;
use containerd_protocol::metrics::Metrics;
use containerd_protocol::task::{
    ConnectRequest, ConnectResponse, PauseRequest, PidsRequest, PidsResponse, ResizePtyRequest,
    ResumeRequest, SERVICE_V2, SERVICE_V3, StartRequest, StartResponse, StatsRequest,
    StatsResponse, TaskStatus, UpdateTaskRequest,
};
use ttrpc::{CallError, Code};

use crate::harness::{Harness, LIMIT, Tasks};
use crate::pod::VMM_PID;

#[tokio::test]
async fn a_task_runs_under_both_versions_of_the_service() {
    for service in [SERVICE_V2, SERVICE_V3] {
        let mut shim = Harness::new().await;
        shim.tasks = Tasks::connect(&shim.socket(), service).await;
        let request = shim.request("a", "exit 3");
        assert_eq!(shim.tasks.create(&request).await, Ok(VMM_PID));
        assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Created));
        assert_eq!(shim.tasks.start("a", "").await, Ok(VMM_PID));
        assert_eq!(shim.tasks.wait("a", "").await, Ok(3));
        let state = shim.tasks.state("a", "").await.expect("it exists");
        assert_eq!(
            (state.status(), state.exit_status, state.bundle),
            (TaskStatus::Stopped, 3, request.bundle)
        );
        assert_eq!(shim.tasks.delete("a", "").await, Ok(3));
        assert_eq!(shim.containers(), 0);
        shim.tasks.shut_down().await;
        drop(shim.tasks);
        shim.server.await.expect("it ends").expect("it served");
        // The shim ends after containerd has its events.
        let lines = shim.containerd.lines();
        assert_eq!(lines, ["create a", "start a", "exit a 3", "delete a 3"]);
    }
}

#[tokio::test]
async fn calls_on_what_does_not_exist_end_at_once() {
    let shim = Harness::new().await;
    shim.run(&shim.request("a", "sleep")).await;
    for (id, exec_id) in [("b", ""), ("a", "e")] {
        assert_eq!(shim.tasks.wait(id, exec_id).await, Err(Code::NotFound));
        assert_eq!(shim.tasks.start(id, exec_id).await, Err(Code::NotFound));
        assert_eq!(shim.tasks.kill(id, exec_id, 9).await, Err(Code::NotFound));
        assert_eq!(shim.tasks.delete(id, exec_id).await, Err(Code::NotFound));
        assert_eq!(shim.tasks.status(id, exec_id).await, Err(Code::NotFound));
    }
    for method in ["Checkpoint", "Other"] {
        assert_eq!(
            shim.tasks.call::<Empty>(method, &Empty {}).await,
            Err(Code::Unimplemented)
        );
    }
}

#[tokio::test]
async fn states_forbid_calls_and_repetitions_are_harmless() {
    let shim = Harness::new().await;
    let request = shim.request("a", "stubborn");
    shim.run(&request).await;
    assert_eq!(shim.tasks.create(&request).await, Err(Code::AlreadyExists));
    let other = shim.request("b", "sleep");
    assert_eq!(
        shim.tasks.create(&other).await,
        Err(Code::FailedPrecondition)
    );
    assert_eq!(
        shim.tasks.start("a", "").await,
        Err(Code::FailedPrecondition)
    );
    assert_eq!(
        shim.tasks.delete("a", "").await,
        Err(Code::FailedPrecondition)
    );
    assert_eq!(
        shim.tasks.kill("a", "", 99).await,
        Err(Code::InvalidArgument)
    );
    for signal in [0, 15, 15, 9] {
        assert_eq!(shim.tasks.kill("a", "", signal).await, Ok(Empty {}));
    }
    assert_eq!(shim.tasks.wait("a", "").await, Ok(137));
    assert_eq!(shim.tasks.kill("a", "", 9).await, Err(Code::NotFound));
    assert_eq!(
        shim.tasks.start("a", "").await,
        Err(Code::FailedPrecondition)
    );
    // Two at the same time: one of them finds nothing.
    let both = tokio::join!(shim.tasks.delete("a", ""), shim.tasks.delete("a", ""));
    assert!(
        matches!(
            both,
            (Ok(137), Err(Code::NotFound)) | (Err(Code::NotFound), Ok(137))
        ),
        "{both:?}"
    );
    assert_eq!(shim.tasks.wait("a", "").await, Err(Code::NotFound));
}

#[tokio::test]
async fn a_container_that_was_not_started_ends_by_a_signal_or_a_deletion() {
    let shim = Harness::new().await;
    shim.tasks
        .create(&shim.request("a", "sleep"))
        .await
        .expect("it is created");
    assert_eq!(shim.tasks.kill("a", "", 28).await, Ok(Empty {}));
    assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Created));
    assert_eq!(shim.tasks.kill("a", "", 15).await, Ok(Empty {}));
    assert_eq!(shim.tasks.wait("a", "").await, Ok(143));
    assert_eq!(shim.tasks.delete("a", "").await, Ok(143));
    shim.containerd.wait_for("delete a 143").await;
    assert_eq!(
        shim.containerd.lines(),
        ["create a", "exit a 143", "delete a 143"]
    );

    let shim = Harness::new().await;
    shim.tasks
        .create(&shim.request("a", "sleep"))
        .await
        .expect("it is created");
    let (waited, deleted) =
        tokio::join!(biased; shim.tasks.wait("a", ""), shim.tasks.delete("a", ""));
    assert_eq!((waited, deleted), (Ok(137), Ok(137)));
}

#[tokio::test]
async fn further_processes_have_states_and_events_of_their_own() {
    let shim = Harness::new().await;
    shim.tasks
        .create(&shim.request("a", "sleep"))
        .await
        .expect("it is created");
    shim.tasks
        .exec("a", "early", "exit 0")
        .await
        .expect("it is created");
    assert_eq!(
        shim.tasks.start("a", "early").await,
        Err(Code::FailedPrecondition)
    );
    shim.tasks.start("a", "").await.expect("it is started");
    shim.exec("a", "e", "exit 5").await;
    assert_eq!(
        shim.tasks.exec("a", "e", "exit 0").await,
        Err(Code::AlreadyExists)
    );
    assert_eq!(shim.tasks.wait("a", "e").await, Ok(5));
    assert_eq!(shim.tasks.delete("a", "e").await, Ok(5));
    assert_eq!(shim.tasks.delete("a", "e").await, Err(Code::NotFound));
    shim.exec("a", "f", "sleep").await;
    assert_eq!(shim.tasks.kill("a", "f", 2).await, Ok(Empty {}));
    assert_eq!(shim.tasks.wait("a", "f").await, Ok(130));
    shim.exec("a", "g", "sleep").await;
    assert_eq!(shim.tasks.kill("a", "", 9).await, Ok(Empty {}));
    // Nothing of a container outlives its main process, whether it was started or not.
    assert_eq!(shim.tasks.wait("a", "").await, Ok(137));
    for exec_id in ["early", "g"] {
        assert_eq!(shim.tasks.wait("a", exec_id).await, Ok(137));
    }
    assert_eq!(
        shim.tasks.exec("a", "late", "exit 0").await,
        Err(Code::FailedPrecondition)
    );
    shim.containerd.wait_for("exit a 137").await;
    let lines = shim.containerd.lines();
    let expected = [
        "create a",
        "added a/early",
        "start a",
        "added a/e",
        "start a/e",
        "exit a/e 5",
        "added a/f",
        "start a/f",
        "exit a/f 130",
        "added a/g",
        "start a/g",
    ];
    assert_eq!(
        lines.get(..expected.len()),
        Some(&expected.map(str::to_owned)[..])
    );
    assert_eq!(lines.last().map(String::as_str), Some("exit a 137"));
}

#[tokio::test]
async fn a_failed_creation_or_start_leaves_nothing_that_hangs() {
    let shim = Harness::new().await;
    let refused = shim.request("a", "refused");
    assert_eq!(
        shim.tasks.create(&refused).await,
        Err(Code::InvalidArgument)
    );
    assert_eq!(shim.tasks.wait("a", "").await, Err(Code::NotFound));

    let shim = Harness::new().await;
    shim.tasks
        .create(&shim.request("a", "broken"))
        .await
        .expect("it is created");
    assert_eq!(shim.tasks.start("a", "").await, Err(Code::Unknown));
    assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Created));
    assert_eq!(shim.tasks.delete("a", "").await, Ok(137));

    let shim = Harness::new().await;
    let mut request = shim.request("a", "sleep");
    request.stdout = "binary:///bin/logger".to_owned();
    assert_eq!(
        shim.tasks.create(&request).await,
        Err(Code::InvalidArgument)
    );
    request.stdout = shim.directory.path().join("missing").display().to_string();
    shim.tasks.create(&request).await.expect("it is created");
    assert_eq!(shim.tasks.start("a", "").await, Err(Code::InvalidArgument));
}

#[tokio::test]
async fn a_start_that_hangs_ends_with_its_caller_and_with_the_machine() {
    let shim = Harness::new().await;
    shim.tasks
        .create(&shim.request("a", "hanging"))
        .await
        .expect("it is created");
    let request = StartRequest {
        id: "a".into(),
        exec_id: String::new(),
    };
    let started = shim
        .tasks
        .call_in::<StartResponse>("Start", &request, Duration::from_millis(50))
        .await;
    assert!(
        matches!(started, Err(CallError::TimedOut(_) | CallError::Status(_))),
        "{started:?}"
    );
    shim.pod.die();
    assert_eq!(shim.tasks.wait("a", "").await, Ok(137));
    assert_eq!(shim.tasks.delete("a", "").await, Ok(137));
}

#[tokio::test]
async fn a_machine_that_dies_ends_everything_even_without_a_report() {
    let shim = Harness::new().await;
    shim.run(&shim.request("a", "silent")).await;
    shim.exec("a", "e", "silent").await;
    let waits = async { tokio::join!(shim.tasks.wait("a", ""), shim.tasks.wait("a", "e")) };
    let (waits, ()) = tokio::join!(waits, async { shim.pod.die() });
    assert_eq!(waits, (Ok(137), Ok(137)));
    assert_eq!(shim.tasks.kill("a", "", 9).await, Err(Code::NotFound));
    shim.containerd.wait_for("exit a 137").await;
    let lines = shim.containerd.lines();
    assert_eq!(lines[lines.len() - 2..], ["exit a/e 137", "exit a 137"]);
    assert_eq!(shim.tasks.delete("a", "").await, Ok(137));
}

#[tokio::test]
async fn a_memory_limit_is_reported_before_the_end() {
    let shim = Harness::new().await;
    shim.run(&shim.request("a", "oom")).await;
    assert_eq!(shim.tasks.wait("a", "").await, Ok(137));
    shim.containerd.wait_for("exit a 137").await;
    assert_eq!(
        shim.containerd.lines(),
        ["create a", "start a", "oom a", "exit a 137"]
    );
}

#[tokio::test]
async fn facts_and_settings_of_a_running_container() {
    let shim = Harness::new().await;
    shim.run(&shim.request("a", "sleep")).await;
    let id = || "a".to_owned();
    let pids: PidsResponse = shim
        .tasks
        .call("Pids", &PidsRequest { id: id() })
        .await
        .expect("it exists");
    assert_eq!(
        pids.processes
            .iter()
            .map(|process| process.pid)
            .collect::<Vec<_>>(),
        [VMM_PID]
    );
    let stats: StatsResponse = shim
        .tasks
        .call("Stats", &StatsRequest { id: id() })
        .await
        .expect("it exists");
    let stats = stats
        .stats
        .expect("it has some")
        .unpack::<Metrics>()
        .expect("they are of version 2");
    assert_eq!(
        stats
            .expect("they can be read")
            .pids
            .expect("it has some")
            .current,
        1
    );
    let connected: ConnectResponse = shim
        .tasks
        .call("Connect", &ConnectRequest { id: id() })
        .await
        .expect("it exists");
    assert_eq!(
        (connected.shim_pid, connected.task_pid),
        (std::process::id(), VMM_PID)
    );
    let size = ResizePtyRequest {
        id: id(),
        width: 80,
        height: 24,
        ..ResizePtyRequest::default()
    };
    assert_eq!(shim.tasks.call("ResizePty", &size).await, Ok(Empty {}));
    let mut update = UpdateTaskRequest {
        id: id(),
        ..UpdateTaskRequest::default()
    };
    assert_eq!(
        shim.tasks.call::<Empty>("Update", &update).await,
        Err(Code::InvalidArgument)
    );
    update.resources = Some(Any {
        type_url: String::new(),
        value: b"{}".to_vec(),
    });
    assert_eq!(shim.tasks.call("Update", &update).await, Ok(Empty {}));
    // A shim with tasks goes on.
    shim.tasks.shut_down().await;
    assert_eq!(shim.tasks.kill("a", "", 9).await, Ok(Empty {}));
    let ended = tokio::time::timeout(LIMIT, shim.tasks.wait("a", "")).await;
    assert_eq!(ended.expect("it ends"), Ok(137));
}

#[tokio::test]
async fn a_paused_container_says_so_until_it_is_resumed_or_ends() {
    let shim = Harness::new().await;
    let request = shim.request("a", "sleep");
    shim.tasks.create(&request).await.expect("it is created");
    let pause = PauseRequest { id: "a".into() };
    let refused = shim.tasks.call::<Empty>("Pause", &pause).await;
    assert_eq!(refused, Err(Code::FailedPrecondition));
    shim.tasks.start("a", "").await.expect("it is started");
    for _ in 0..2 {
        assert_eq!(shim.tasks.call("Pause", &pause).await, Ok(Empty {}));
    }
    assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Paused));
    let resume = ResumeRequest { id: "a".into() };
    assert_eq!(shim.tasks.call("Resume", &resume).await, Ok(Empty {}));
    assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Running));
    assert_eq!(shim.tasks.call("Pause", &pause).await, Ok(Empty {}));
    assert_eq!(shim.tasks.kill("a", "", 9).await, Ok(Empty {}));
    assert_eq!(shim.tasks.wait("a", "").await, Ok(137));
    assert_eq!(shim.tasks.status("a", "").await, Ok(TaskStatus::Stopped));
    shim.containerd.wait_for("exit a 137").await;
    assert_eq!(
        shim.containerd.lines(),
        [
            "create a",
            "start a",
            "paused a",
            "resumed a",
            "paused a",
            "exit a 137"
        ]
    );
}
