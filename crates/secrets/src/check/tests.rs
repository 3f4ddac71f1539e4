use super::*;

fn secrets(texts: &[&str]) -> Vec<Secret> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn secrets_of_different_names_stand_beside_each_other() {
    assert_eq!(check_all(&[]), Ok(()));
    let all = secrets(&[
        "K@h.example",
        "L@h.example",
        "k@h.example",
        "name=M,to=h.example,file=/m",
    ]);
    assert_eq!(check_all(&all), Ok(()));
}

#[test]
fn a_name_or_a_file_is_that_of_one_secret() {
    let twice = secrets(&["K@h.example", "L@h.example", "K@i.example"]);
    let error = check_all(&twice).unwrap_err();
    assert_eq!(error.to_string(), "the secret K is given twice");
    let file = secrets(&["name=K,to=h.example,file=/k", "name=L,to=h.example,file=/k"]);
    let error = check_all(&file).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the secrets K and L have the same file in the sandbox"
    );
}

#[test]
fn the_number_of_secrets_is_limited() {
    let many = |count: usize| -> Vec<Secret> {
        (0..count)
            .map(|index| format!("K{index}@h.example").parse().unwrap())
            .collect()
    };
    assert_eq!(check_all(&many(SECRETS_MAX)), Ok(()));
    let error = check_all(&many(SECRETS_MAX + 1)).unwrap_err();
    assert_eq!(error, InvalidSecret::TooMany { count: 17 });
}

#[test]
fn each_secret_is_checked() {
    let mut all = secrets(&["K@h.example", "L@h.example"]);
    all[1].to.clear();
    let error = check_all(&all).unwrap_err();
    assert!(
        matches!(error, InvalidSecret::NoDestination { .. }),
        "{error}"
    );
    all[1] = "L@h.example".parse().unwrap();
    all[1].every_s = Some(60);
    let error = check_all(&all).unwrap_err();
    assert!(
        matches!(error, InvalidSecret::NotRepeatable { .. }),
        "{error}"
    );
}

#[test]
fn a_pattern_of_many_owners_has_a_notice() {
    for (text, is_noticed) in [
        ("K@*.githubusercontent.com", true),
        ("K@*.raw.githubusercontent.com", true),
        ("K@*.s3.eu-west-1.amazonaws.com", true),
        ("K@*.windows.net", true),
        ("K@*.blob.core.windows.net", true),
        ("K@raw.githubusercontent.com", false),
        ("K@*.example.com", false),
        ("K@*.notgithub.io", false),
        ("K@h.example,*.github.io:8443/x", true),
    ] {
        let notices = notices(&secrets(&[text]));
        assert_eq!(!notices.is_empty(), is_noticed, "{text}: {notices:?}");
        let names_both = |notice: &String| notice.contains("secret K") && notice.contains("*.");
        assert!(notices.iter().all(names_both), "{notices:?}");
    }
}

#[test]
fn the_shared_parents_are_sorted() {
    assert!(SHARED_PARENTS.is_sorted());
}
