//! Pods: a sandbox that is a state of the machine, and containers in it.

use containerd_protocol::Empty;
use containerd_protocol::task::TaskStatus;
use ttrpc::Code;

use crate::harness::Harness;

#[tokio::test]
async fn the_end_of_the_sandbox_ends_its_containers_first() {
    let shim = Harness::new().await;
    let sandbox = shim.pod_request("s", "pause", "s");
    shim.run(&sandbox).await;
    for id in ["a", "b"] {
        shim.run(&shim.pod_request(id, "stubborn", "s")).await;
    }
    shim.exec("a", "e", "stubborn").await;
    assert_eq!(
        shim.tasks.exec("s", "e", "exit 0").await,
        Err(Code::FailedPrecondition)
    );
    assert_eq!(shim.tasks.kill("s", "", 0).await, Ok(Empty {}));
    assert_eq!(shim.tasks.status("s", "").await, Ok(TaskStatus::Running));
    assert_eq!(shim.tasks.kill("s", "", 15).await, Ok(Empty {}));
    assert_eq!(shim.tasks.wait("s", "").await, Ok(143));
    for id in ["a", "b"] {
        assert_eq!(shim.tasks.wait(id, "").await, Ok(137));
    }
    shim.containerd.wait_for("exit s 143").await;
    let lines = shim.containerd.lines();
    assert_eq!(lines.last().map(String::as_str), Some("exit s 143"));
    for id in ["a", "b"] {
        assert_eq!(shim.tasks.delete(id, "").await, Ok(137));
    }
    assert_eq!(shim.tasks.delete("s", "").await, Ok(143));
    assert_eq!(shim.tasks.delete("s", "").await, Err(Code::NotFound));
}

#[tokio::test]
async fn containers_come_and_go_while_the_sandbox_runs() {
    let shim = Harness::new().await;
    let member = shim.pod_request("a", "exit 1", "s");
    assert_eq!(
        shim.tasks.create(&member).await,
        Err(Code::FailedPrecondition)
    );
    shim.run(&shim.pod_request("s", "pause", "s")).await;
    let other = shim.pod_request("x", "exit 1", "t");
    assert_eq!(
        shim.tasks.create(&other).await,
        Err(Code::FailedPrecondition)
    );
    for _ in 0..3 {
        shim.run(&member).await;
        assert_eq!(shim.tasks.wait("a", "").await, Ok(1));
        assert_eq!(shim.tasks.delete("a", "").await, Ok(1));
    }
    assert_eq!(shim.tasks.status("s", "").await, Ok(TaskStatus::Running));
    // A container that is refused does not end the machine.
    let refused = shim.pod_request("r", "refused", "s");
    assert_eq!(
        shim.tasks.create(&refused).await,
        Err(Code::InvalidArgument)
    );
    assert_eq!(shim.tasks.status("s", "").await, Ok(TaskStatus::Running));
    assert_eq!(shim.containers(), 0);
}

#[tokio::test]
async fn a_machine_that_dies_ends_its_sandbox_with_137() {
    let shim = Harness::new().await;
    shim.run(&shim.pod_request("s", "pause", "s")).await;
    shim.run(&shim.pod_request("a", "silent", "s")).await;
    // It was never started.
    shim.tasks
        .create(&shim.pod_request("b", "sleep", "s"))
        .await
        .expect("it is created");
    shim.pod.die();
    for id in ["a", "b", "s"] {
        assert_eq!(shim.tasks.wait(id, "").await, Ok(137));
    }
    shim.containerd.wait_for("exit s 137").await;
    assert_eq!(
        shim.containerd.lines().last().map(String::as_str),
        Some("exit s 137")
    );
    let late = shim.pod_request("late", "sleep", "s");
    assert_eq!(
        shim.tasks.create(&late).await,
        Err(Code::FailedPrecondition)
    );
}
