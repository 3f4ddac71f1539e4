use tokio::time::advance;

use super::*;

fn asks() -> (Asks, mpsc::Receiver<FromNetwork>) {
    let (messages, sent) = mpsc::channel(64);
    (Asks::new(Some(messages)), sent)
}

fn token(sent: &mut mpsc::Receiver<FromNetwork>) -> Option<u64> {
    match sent.try_recv().ok()? {
        FromNetwork::Asked { token, .. } => Some(token),
        FromNetwork::Changed { .. } => None,
    }
}

fn pending(asked: Asked) -> Pending {
    match asked {
        Asked::Waits(pending) => pending,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_question_is_asked_for_a_destination_and_all_who_wait_hear_its_end() {
    let (asks, mut sent) = asks();
    let mut waiting: Vec<_> = (0..3).map(|_| pending(asks.ask("a.test:443"))).collect();
    let first = token(&mut sent).unwrap();
    assert_eq!(token(&mut sent), None);
    asks.tell(first + 1, Told::Denied);
    asks.tell(first, Told::Allowed);
    for pending in &mut waiting {
        assert_eq!(pending.told().await, Told::Allowed);
    }
    // The answer was for this once.
    pending(asks.ask("a.test:443"));
    assert_eq!(token(&mut sent), Some(first + 1));
}

#[tokio::test(start_paused = true)]
async fn a_denial_holds_for_a_moment_and_a_missing_answer_for_none() {
    let (asks, mut sent) = asks();
    for (told, is_denied) in [(Told::Unanswered, false), (Told::Denied, true)] {
        let mut pending = pending(asks.ask("a.test"));
        asks.tell(token(&mut sent).unwrap(), told);
        assert_eq!(pending.told().await, told);
        assert_eq!(matches!(asks.ask("a.test"), Asked::Denied), is_denied);
        if !is_denied {
            asks.tell(token(&mut sent).unwrap(), Told::Unanswered);
        }
    }
    advance(ASK_DENIAL_KEPT).await;
    pending(asks.ask("a.test"));
    asks.tell(token(&mut sent).unwrap(), Told::Denied);
    asks.forget_denials();
    pending(asks.ask("a.test"));
}

#[tokio::test(start_paused = true)]
async fn the_thirteenth_question_is_not_asked_and_a_flood_is_slowed_down() {
    let (asks, mut sent) = asks();
    let mut open: Vec<_> = (0..ASKS_MAX)
        .map(|number| pending(asks.ask(&format!("{number}.test"))))
        .collect();
    assert!(matches!(asks.ask("more.test"), Asked::Unasked));
    // A destination that is asked about is no other question.
    open.push(pending(asks.ask("0.test")));
    let mut asked = 0;
    while let Some(token) = token(&mut sent) {
        asks.tell(token, Told::Unanswered);
        asked += 1;
        let _ = asks.ask(&format!("again-{token}.test"));
    }
    assert_eq!(asked, ASKS_PER_SECOND_MAX);
    advance(crate::window::SPAN).await;
    pending(asks.ask("later.test"));
}

#[tokio::test]
async fn without_a_supervisor_nothing_is_asked() {
    assert!(matches!(Asks::new(None).ask("a.test"), Asked::Unasked));
    let (asks, _sent) = asks();
    let mut pending = pending(asks.ask("a.test"));
    asks.close();
    assert_eq!(pending.told().await, Told::Unanswered);
    assert!(matches!(asks.ask("a.test"), Asked::Unasked));
    let (asks, sent) = self::asks();
    drop(sent);
    assert!(matches!(asks.ask("a.test"), Asked::Unasked));
}
