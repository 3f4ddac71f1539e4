use super::*;
use crate::fixtures::{name, value};

fn in_time() -> Instant {
    Instant::now() + WAIT
}

fn state(values: &Values) -> ValueState {
    values.list().into_iter().next().unwrap().state
}

#[tokio::test(start_paused = true)]
async fn a_value_is_held_until_it_is_replaced() {
    let values = Values::new([name("K")]);
    assert_eq!(state(&values), ValueState::Missing);
    values.set(&name("K"), value("value-one"), None).unwrap();
    assert_eq!(state(&values), ValueState::Held);
    let first = values.wait(&name("K"), in_time()).await.unwrap();
    values
        .clone()
        .set(
            &name("K"),
            value("value-two"),
            Some(Duration::from_secs(3_600)),
        )
        .unwrap();
    let second = values.wait(&name("K"), in_time()).await.unwrap();
    assert_eq!(
        (first.value.expose(), second.value.expose()),
        ("value-one", "value-two")
    );
    assert!(!format!("{values:?}").contains("value-two"));
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_value() {
    let values = Values::new([name("K"), name("L")]);
    let waiting = tokio::spawn({
        let values = values.clone();
        async move { values.wait(&name("K"), in_time()).await }
    });
    tokio::task::yield_now().await;
    // Another secret's value does not end it.
    values.set(&name("L"), value("other-value"), None).unwrap();
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    values.set(&name("K"), value("value-one"), None).unwrap();
    let held = waiting.await.unwrap().unwrap();
    assert_eq!(held.value.expose(), "value-one");
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_only_so_long() {
    let values = Values::new([name("K")]);
    let begin = Instant::now();
    let missing = values.wait(&name("K"), in_time()).await.unwrap_err();
    assert_eq!(missing, NoValue::Missing { name: name("K") });
    assert!(begin.elapsed() >= WAIT);

    values
        .set(&name("K"), value("value-one"), Some(Duration::ZERO))
        .unwrap();
    assert_eq!(state(&values), ValueState::Expired);
    let expired = values.wait(&name("K"), in_time()).await.unwrap_err();
    assert_eq!(expired, NoValue::Expired { name: name("K") });

    values.remove(&name("K")).unwrap();
    assert_eq!(state(&values), ValueState::Removed);
    let begin = Instant::now();
    let removed = values.wait(&name("K"), in_time()).await.unwrap_err();
    assert_eq!(removed, NoValue::Removed { name: name("K") });
    assert!(begin.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_removed_ends_the_wait() {
    let values = Values::new([name("K")]);
    let waiting = tokio::spawn({
        let values = values.clone();
        async move { values.wait(&name("K"), in_time()).await }
    });
    tokio::task::yield_now().await;
    values.remove(&name("K")).unwrap();
    let removed = waiting.await.unwrap().unwrap_err();
    assert_eq!(removed, NoValue::Removed { name: name("K") });
}

#[tokio::test(start_paused = true)]
async fn all_values_of_a_request_are_waited_for_together() {
    let values = Values::new([name("K"), name("L")]);
    let (begin, deadline) = (Instant::now(), in_time());
    for secret in ["K", "L"] {
        let missing = values.wait(&name(secret), deadline).await.unwrap_err();
        assert_eq!(missing, NoValue::Missing { name: name(secret) });
    }
    assert!(begin.elapsed() < 2 * WAIT, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_removed_secret_does_not_come_back() {
    let values = Values::new([name("K")]);
    values.set(&name("K"), value("value-one"), None).unwrap();
    values.remove(&name("K")).unwrap();
    let refused = values.set(&name("K"), value("value-two"), None);
    assert_eq!(refused, Err(NotSet::Removed { name: name("K") }));
    assert_eq!(state(&values), ValueState::Removed);
    let removed = values.wait(&name("K"), in_time()).await.unwrap_err();
    assert_eq!(removed, NoValue::Removed { name: name("K") });
    values.remove(&name("K")).unwrap();
}

#[test]
fn other_names_are_refused() {
    let values = Values::new([name("K")]);
    let refused = NoSuchSecret { name: name("L") };
    assert_eq!(
        values.set(&name("L"), value("value-one"), None),
        Err(refused.clone().into())
    );
    assert_eq!(values.remove(&name("L")), Err(refused));
    assert_eq!(values.list().len(), 1);
}
