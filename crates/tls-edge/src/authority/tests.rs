use rustls::Error;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::ServerName;

use super::*;

fn authority(hosts: &[&str]) -> Authority {
    let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
    Authority::create(&hosts).unwrap()
}

/// Verifies the authority's certificate for a name as a client does that trusts it and asks for this name.
fn verify(authority: &Authority, name: &str, now: UnixTime) -> Result<(), Error> {
    let roots = crate::Roots::from_pem(authority.certificate_pem()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.store(), provider)
        .build()
        .unwrap();
    let leaf = authority.leaf(name).unwrap();
    let server = ServerName::try_from(name.to_owned()).unwrap();
    let leaf = leaf.end_entity_cert().unwrap();
    verifier
        .verify_server_cert(leaf, &[], &server, &[], now)
        .map(|_| ())
}

fn is_constraint(result: &Result<(), Error>) -> bool {
    matches!(result, Err(error) if format!("{error:?}").contains("NameConstraintViolation"))
}

#[test]
fn names_inside_of_the_constraint_are_trusted_and_no_others() {
    let authority = authority(&["api.example.com", "*.b.example"]);
    let now = UnixTime::now();
    for name in ["api.example.com", "a.b.example", "x.y.b.example"] {
        verify(&authority, name, now).unwrap();
    }
    for name in [
        "example.com",
        "evil.example",
        "api.example.com.evil.example",
        "xapi.example.com",
        "b.example",
        "ab.example",
        "127.0.0.1",
        "::1",
    ] {
        let refused = verify(&authority, name, now);
        assert!(is_constraint(&refused), "{name}: {refused:?}");
    }
}

#[test]
fn it_covers_the_hosts_that_it_was_made_for() {
    let authority = authority(&["api.example.com", "*.b.example"]);
    let covers = |host: &str| authority.covers(&host.parse().unwrap());
    assert!(covers("api.example.com") && covers("*.b.example") && covers("c.b.example"));
    assert!(!covers("example.com") && !covers("b.example") && !covers("*.example.com"));
}

#[test]
fn a_clock_may_be_a_day_behind() {
    let authority = authority(&["a.example"]);
    let hour = |hours: u64| Duration::from_secs(hours * 60 * 60);
    let now = UnixTime::now().as_secs();
    let at = |time: Duration| verify(&authority, "a.example", UnixTime::since_unix_epoch(time));
    let now = Duration::from_secs(now);
    at(now - hour(23)).unwrap();
    at(now + hour(24 * 6)).unwrap();
    at(now - hour(25)).unwrap_err();
    at(now + hour(24 * 8)).unwrap_err();
}

#[test]
fn a_loaded_authority_is_the_same() {
    let made = authority(&["a.example"]);
    let loaded = Authority::load(made.certificate_pem(), &made.key_pem()).unwrap();
    assert_eq!(loaded.certificate_pem(), made.certificate_pem());
    assert_eq!(*loaded.key_pem(), *made.key_pem());
    verify(&loaded, "a.example", UnixTime::now()).unwrap();
    assert!(is_constraint(&verify(
        &loaded,
        "b.example",
        UnixTime::now()
    )));
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let (one, other) = (authority(&["a.example"]), authority(&["a.example"]));
    let certificate = one.certificate_pem();
    let load = |certificate: &str, key: &str| Authority::load(certificate, key).map(|_| ());
    let refused = load(certificate, &other.key_pem());
    assert!(
        matches!(refused, Err(AuthorityError::OtherKey)),
        "{refused:?}"
    );
    for key in [
        "",
        certificate,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        let refused = load(certificate, key);
        assert!(matches!(refused, Err(AuthorityError::Key)), "{refused:?}");
    }
    for certificate in ["", "text", &*one.key_pem()] {
        let refused = load(certificate, &one.key_pem());
        assert!(
            matches!(refused, Err(AuthorityError::Certificate)),
            "{refused:?}"
        );
    }
}

#[test]
fn an_authority_for_all_hosts_is_refused() {
    assert!(matches!(
        Authority::create(&[]),
        Err(AuthorityError::NoHosts)
    ));
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let params = issue::authority_params(&key).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let refused = Authority::load(&certificate.pem(), &key.serialize_pem());
    assert!(
        matches!(refused, Err(AuthorityError::Unconstrained)),
        "{refused:?}"
    );
}

#[test]
fn leaves_are_kept_and_bounded() {
    let authority = authority(&["*.a.example"]);
    let first = authority.leaf("0.a.example").unwrap();
    assert!(Arc::ptr_eq(&first, &authority.leaf("0.a.example").unwrap()));
    first.keys_match().unwrap();
    for number in 1..=LEAVES_MAX {
        authority.leaf(&format!("{number}.a.example")).unwrap();
    }
    assert_eq!(authority.leaves.lock().unwrap().len(), LEAVES_MAX);
    // The oldest one made room.
    assert!(!Arc::ptr_eq(
        &first,
        &authority.leaf("0.a.example").unwrap()
    ));
}

#[test]
fn leaves_have_different_serial_numbers() {
    let authority = authority(&["*.a.example"]);
    let one = issue::leaf("b.a.example", &authority.leaf_key, &authority.issuer).unwrap();
    let other = issue::leaf("b.a.example", &authority.leaf_key, &authority.issuer).unwrap();
    // The number is the first field after the version, 16 bytes long.
    let number =
        |certificate: &rcgen::Certificate| certificate.der().get(8..40).map(<[u8]>::to_vec);
    assert_ne!(number(&one), number(&other));
}
