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
fn values_of_the_past_stay_known() {
    let values = Values::new([name("K"), name("L")]);
    let known = |names: &[&str]| -> Vec<String> {
        let names: Vec<_> = names.iter().map(|text| name(text)).collect();
        let known = values.known(&names).into_iter();
        known.map(|held| held.value.expose().to_owned()).collect()
    };
    let set = |text: &str| values.set(&name("K"), value(text), None).unwrap();
    assert!(known(&["K", "L"]).is_empty());
    set("value-one");
    set("value-two");
    let generation = values.generation();
    // The command of a secret may print the same value each time.
    set("value-one");
    assert_eq!(values.generation(), generation);
    assert_eq!(known(&["K"]), ["value-two", "value-one"]);
    values.set(&name("L"), value("value-of-l"), None).unwrap();
    assert_ne!(values.generation(), generation);
    assert_eq!(known(&["L"]), ["value-of-l"]);
    values.remove(&name("K")).unwrap();
    assert_eq!(known(&["K", "L"]).len(), 3);
}

#[test]
fn known_values_are_bounded() {
    let values = Values::new([name("K")]);
    let set = |text: &str| values.set(&name("K"), value(text), None).unwrap();
    for number in 0..2 * KNOWN_MAX {
        set(&format!("value-{number:03}"));
    }
    let known = values.known(&[name("K")]);
    let last = format!("value-{:03}", 2 * KNOWN_MAX - 1);
    assert_eq!(known.len(), KNOWN_MAX);
    assert_eq!(known.last().unwrap().value.expose(), last);
    // Encoders of URLs write both characters in several ways, all of them long.
    let longest = "!/".repeat(msb_secrets::VALUE_MAX_BYTES / 2 - 1);
    for letter in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        set(&format!("{letter}{longest}"));
    }
    let secrets = values.secrets();
    let entry = &secrets[&name("K")];
    assert!(entry.memory_bytes() <= KNOWN_MAX_BYTES && !entry.known.is_empty());
    assert!(entry.known.len() < KNOWN_MAX);
    assert!(entry.known.last().unwrap().value.expose().starts_with('h'));
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
