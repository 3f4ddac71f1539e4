use super::*;

/// Returns a secret of the command line's text.
fn secret(text: &str) -> Secret {
    text.parse().expect("a secret")
}

/// Returns the authorities of a host that has one, which is not a certificate.
fn host() -> HostAuthorities {
    HostAuthorities::for_tests(b"host")
}

fn request<'a>(root: Root<'a>, host: Option<&'a HostAuthorities>) -> Request<'a> {
    Request {
        requests: &[],
        host,
        image_environment: &[],
        variables: BTreeSet::new(),
        user: "",
        is_read_only: false,
        root,
    }
}

/// A disk image: its files are not read.
const DISK: Root<'static> = Root::Existing {
    image: None,
    source: None,
};

#[test]
fn a_sandbox_without_secrets_and_authorities_gets_nothing() {
    let prepared = prepare(&mut [], &request(DISK, None)).expect("prepared");
    assert_eq!(prepared, Prepared::default());
}

#[test]
fn an_existing_disk_is_given_its_files_at_each_start() {
    let host = host();
    let mut secrets = [
        secret("TOKEN@api.example.com"),
        secret("name=KEY,to=*.example.org,file=/home/me/.config/key,as=sk-"),
    ];
    let mut wanted = request(DISK, Some(&host));
    wanted.user = "1000:100";
    let prepared = prepare(&mut secrets, &wanted).expect("prepared");
    assert!(prepared.written.is_empty());
    let [bundle, key] = prepared.trust.given.as_slice() else {
        panic!("{prepared:?}");
    };
    let own = prepared.trust.authority.as_ref().expect("an authority");
    assert_eq!(
        (bundle.path.as_str(), bundle.mode),
        ("/etc/msb/ca.pem", 0o644)
    );
    assert_eq!(bundle.text.matches("BEGIN CERTIFICATE").count(), 2);
    let described = prepared.trust.bundle.as_ref().expect("it is described");
    assert!(described.has(bundle.text.as_bytes()));
    assert!(
        bundle.text.ends_with(&last_line_of(own.certificate())),
        "{}",
        bundle.text
    );
    let placeholder = secrets[1].placeholder.as_ref().expect("made").to_string();
    assert!(placeholder.starts_with("sk-"));
    assert_eq!(
        *key,
        GivenFile {
            path: "/home/me/.config/key".to_owned(),
            mode: 0o600,
            uid: 1000,
            gid: 100,
            text: placeholder,
        }
    );
    let variables = &prepared.environment.settings;
    assert!(
        variables
            .iter()
            .any(|each| each.starts_with("TOKEN=msb-secret-"))
    );
    assert!(!variables.iter().any(|each| each.starts_with("KEY=")));
}

/// Returns the end of a certificate's base64 and the line below it.
fn last_line_of(certificate: &str) -> String {
    let text: String = certificate
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let tail: String = text.chars().rev().take(4).collect();
    let tail: String = tail.chars().rev().collect();
    format!("{tail}\n-----END CERTIFICATE-----\n")
}

#[test]
fn the_hosts_authorities_alone_make_no_authority() {
    let host = host();
    let prepared = prepare(&mut [], &request(DISK, Some(&host))).expect("prepared");
    assert_eq!(prepared.trust.authority, None);
    assert_eq!(prepared.trust.given.len(), 1);
    assert_eq!(prepared.environment.settings, [""; 0]);
    assert_eq!(prepared.environment.defaults.len(), 12);
}

#[test]
fn a_rule_for_requests_makes_an_authority_too() {
    let host = host();
    let destination = "api.example.com/v1/*:GET";
    let requests: [HttpsDestination; 1] = [destination.parse().expect("a destination")];
    let mut wanted = request(DISK, Some(&host));
    wanted.requests = &requests;
    let prepared = prepare(&mut [], &wanted).expect("prepared");
    assert!(prepared.trust.authority.is_some());
}

#[test]
fn a_disk_of_another_sandbox_keeps_its_placeholders_and_its_authority() {
    let host = host();
    let mut first = [secret("A@api.example.com"), secret("B@api.example.org")];
    let before = prepare(&mut first, &request(DISK, Some(&host))).expect("prepared");
    let source = Source {
        secrets: &first,
        requests: &[],
        trust: &before.trust,
    };
    let from = Root::Existing {
        image: None,
        source: Some(source),
    };
    let again = |texts: &[&str]| {
        let mut secrets: Vec<Secret> = texts.iter().map(|text| secret(text)).collect();
        let prepared = prepare(&mut secrets, &request(from, Some(&host))).expect("prepared");
        let placeholders = secrets.into_iter().map(|secret| secret.placeholder);
        (prepared.trust.authority, placeholders.collect::<Vec<_>>())
    };
    // The same hosts, of other secrets.
    let (authority, placeholders) =
        again(&["A@api.example.org,api.example.com", "C@api.example.com"]);
    assert_eq!(authority, before.trust.authority);
    assert_eq!(placeholders[0], first[0].placeholder);
    assert_ne!(placeholders[1], first[1].placeholder);
    let (authority, placeholders) = again(&["name=A,to=api.example.com,as=ghp_"]);
    assert_ne!(authority, before.trust.authority);
    assert!(authority.is_some());
    assert_ne!(placeholders[0], first[0].placeholder);
}

#[test]
fn a_placeholder_that_was_made_before_is_kept() {
    let host = host();
    let mut secrets = [secret("A@api.example.com")];
    secrets[0].draw_placeholder().expect("randomness");
    let made = secrets[0].placeholder.clone();
    prepare(&mut secrets, &request(DISK, Some(&host))).expect("prepared");
    assert_eq!(secrets[0].placeholder, made);
}

fn set(request: &mut Request<'_>) {
    request.variables = BTreeSet::from(["HOME", "TOKEN"]);
}

#[test]
fn what_would_be_lost_is_refused() {
    let host = host();
    let refused = |text: &str, change: fn(&mut Request<'_>)| {
        let mut wanted = request(DISK, Some(&host));
        change(&mut wanted);
        prepare(&mut [secret(text)], &wanted).expect_err(text)
    };
    let twice = refused("TOKEN@api.example.com", set);
    assert!(
        matches!(&twice, PrepareError::Variable { name } if name == "TOKEN"),
        "{twice}"
    );
    let read_only = refused("TOKEN@api.example.com", |request| {
        request.is_read_only = true
    });
    assert!(matches!(read_only, PrepareError::ReadOnly), "{read_only}");
    let by_name = refused("name=K,to=api.example.com,file=/key", |request| {
        request.user = "me"
    });
    assert!(
        matches!(by_name, PrepareError::UserOfDisk { .. }),
        "{by_name}"
    );
    let in_file = |path: &str| {
        let mut secrets = [secret("K@api.example.com")];
        secrets[0].file = Some(path.to_owned());
        prepare(&mut secrets, &request(DISK, Some(&host)))
    };
    for path in [
        "key",
        "/",
        "/srv/",
        "/srv/../key",
        "/./key",
        "//key",
        "/etc/msb/ca.pem",
        "/a\0b",
        "",
    ] {
        let error = in_file(path).expect_err(path);
        assert!(
            matches!(error, PrepareError::Path { .. }),
            "{path:?}: {error}"
        );
    }
    in_file("/srv/key").expect("a path");
    // The variable is not the secret's then.
    let mut wanted = request(DISK, Some(&host));
    set(&mut wanted);
    prepare(
        &mut [secret("name=TOKEN,to=api.example.com,file=/key")],
        &wanted,
    )
    .expect("prepared");
}
