//! Random calls at the same time, with a machine that dies among them: no call hangs, no end is lost, and the events of
//! each process have their order.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use ttrpc::Code;

use crate::harness::Harness;

/// Clients at the same time, with this many calls each.
const CLIENTS: usize = 8;
const CALLS: usize = 40;

async fn client(shim: Arc<Harness>, mut random: TestRng) {
    let mut waits = JoinSet::new();
    for _ in 0..CALLS {
        let [choice, which, process] = [
            random.next_u32() % 8,
            random.next_u32() % 3,
            random.next_u32() % 3,
        ];
        let id = ["a", "b", "c"][usize::try_from(which).expect("it is small")];
        let exec_id = ["", "e", "f"][usize::try_from(process).expect("it is small")];
        let words = ["sleep", "exit 0", "silent", "stubborn"]
            [usize::try_from(random.next_u32() % 4).expect("it is small")];
        // Each outcome is possible; that there is one is what counts.
        let outcome = match choice {
            0 => shim
                .tasks
                .create(&shim.pod_request(id, words, "s"))
                .await
                .map(|_| ()),
            1 if !exec_id.is_empty() => shim.tasks.exec(id, exec_id, words).await.map(|_| ()),
            1..=3 => shim.tasks.start(id, exec_id).await.map(|_| ()),
            4 => shim.tasks.kill(id, exec_id, 9).await.map(|_| ()),
            5 => shim.tasks.delete(id, exec_id).await.map(|_| ()),
            6 => shim.tasks.state(id, exec_id).await.map(|_| ()),
            _ => {
                let shim = Arc::clone(&shim);
                waits.spawn(async move { shim.tasks.wait(id, exec_id).await });
                Ok(())
            }
        };
        assert_known(outcome);
    }
    // The machine dies meanwhile, so every wait has an end.
    while let Some(wait) = waits.join_next().await {
        let wait = wait.expect("it does not panic");
        assert!(matches!(wait, Ok(_) | Err(Code::NotFound)), "{wait:?}");
    }
}

/// Checks that a call succeeded or was refused for the state that other calls left.
fn assert_known(outcome: Result<(), Code>) {
    let known = [
        Code::NotFound,
        Code::AlreadyExists,
        Code::FailedPrecondition,
    ];
    assert!(
        outcome.is_ok() || outcome.is_err_and(|code| known.contains(&code)),
        "{outcome:?}"
    );
}

/// Checks the order of each container's events, and that all that has begun has ended.
fn check(lines: &[String]) {
    let mut phases: HashMap<String, &str> = HashMap::new();
    for line in lines {
        let mut words = line.split(' ');
        let (verb, name) = (words.next().expect("a verb"), words.next().expect("a name"));
        let before = phases.get(name).copied();
        let is_right = match verb {
            "create" | "added" => matches!(before, None | Some("delete" | "exit")),
            "start" => matches!(before, Some("create" | "added")),
            "exit" => matches!(before, Some("create" | "added" | "start")),
            "delete" => before == Some("exit"),
            _ => false,
        };
        assert!(is_right, "{line} after {before:?} in {lines:#?}");
        phases.insert(name.to_owned(), verb);
    }
    let open: Vec<_> = phases
        .iter()
        .filter(|(_, verb)| !matches!(**verb, "exit" | "delete"))
        .collect();
    assert!(open.is_empty(), "{open:?} have no end in {lines:#?}");
}

/// A deletion that waited for another one finds a new container of the same name, which it leaves alone.
#[tokio::test]
async fn a_late_deletion_leaves_a_new_container_alone() {
    let shim = Arc::new(Harness::new().await);
    shim.run(&shim.pod_request("s", "pause", "s")).await;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let shim = Arc::clone(&shim);
        clients.spawn(async move {
            for _ in 0..4 * CALLS {
                let outcome = if number % 2 == 0 {
                    let request = shim.pod_request("a", "sleep", "s");
                    shim.tasks.create(&request).await.map(|_| ())
                } else {
                    shim.tasks.delete("a", "").await.map(|_| ())
                };
                assert_known(outcome);
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("it holds");
    }
    shim.pod.die();
    assert_eq!(shim.tasks.wait("s", "").await, Ok(137));
    assert_known(shim.tasks.delete("a", "").await.map(|_| ()));
    shim.tasks.delete("s", "").await.expect("it has ended");
    shim.containerd.wait_for("delete s 137").await;
    check(&shim.containerd.lines());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn calls_at_the_same_time_all_end(seed: [u8; 32], die_after in 0..400_u32) {
        let runtime = Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(async {
            let shim = Arc::new(Harness::new().await);
            shim.run(&shim.pod_request("s", "pause", "s")).await;
            let mut clients = JoinSet::new();
            for number in 0..CLIENTS {
                let mut seed = seed;
                seed[0] = seed[0].wrapping_add(u8::try_from(number).expect("it is small"));
                let random = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
                clients.spawn(client(Arc::clone(&shim), random));
            }
            for _ in 0..die_after {
                tokio::task::yield_now().await;
            }
            shim.pod.die();
            while let Some(client) = clients.join_next().await {
                client.expect("it holds");
            }
            assert_eq!(shim.tasks.wait("s", "").await, Ok(137));
            for id in ["a", "b", "c"] {
                let deleted = shim.tasks.delete(id, "").await;
                assert!(matches!(deleted, Ok(_) | Err(Code::NotFound)), "{deleted:?}");
            }
            shim.tasks.delete("s", "").await.expect("it has ended");
            shim.containerd.wait_for("delete s 137").await;
            check(&shim.containerd.lines());
            assert_eq!(shim.containers(), 0);
        });
    }
}
