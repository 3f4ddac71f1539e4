//! Events while containerd is away.

use crate::harness::Harness;

#[tokio::test]
async fn events_outlast_a_restart_of_containerd_in_their_order() {
    let mut shim = Harness::new().await;
    shim.run(&shim.pod_request("s", "pause", "s")).await;
    shim.run(&shim.pod_request("a", "sleep", "s")).await;
    shim.exec("a", "e", "sleep").await;
    shim.containerd.wait_for("start a/e").await;
    shim.containerd.go_away().await;
    shim.tasks.kill("a", "e", 9).await.expect("it runs");
    shim.tasks.wait("a", "e").await.expect("it ends");
    shim.pod.die();
    for id in ["a", "s"] {
        shim.tasks.wait(id, "").await.expect("it ends");
    }
    shim.tasks.delete("a", "").await.expect("it has ended");
    let seen = shim.containerd.lines().len();
    shim.containerd.come_back();
    shim.containerd.wait_for("delete a 137").await;
    let lines = shim.containerd.lines();
    assert_eq!(
        lines[seen..],
        ["exit a/e 137", "exit a 137", "exit s 137", "delete a 137"]
    );
}

#[tokio::test]
async fn short_tasks_have_their_events_in_order() {
    let shim = Harness::new().await;
    shim.run(&shim.pod_request("s", "pause", "s")).await;
    let request = shim.pod_request("a", "exit 0", "s");
    let rounds = 300;
    for _ in 0..rounds {
        shim.run(&request).await;
        assert_eq!(shim.tasks.wait("a", "").await, Ok(0));
        assert_eq!(shim.tasks.delete("a", "").await, Ok(0));
    }
    shim.tasks.kill("s", "", 9).await.expect("it runs");
    shim.containerd.wait_for("exit s 137").await;
    let lines = shim.containerd.lines();
    let of_task: Vec<_> = lines
        .iter()
        .filter(|line| line.contains(" a"))
        .map(String::as_str)
        .collect();
    let expected = ["create a", "start a", "exit a 0", "delete a 0"].repeat(rounds);
    assert!(of_task == expected, "{of_task:?}");
}
