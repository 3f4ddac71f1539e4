use diagnosis::{Diagnose as _, ErrorKind};
use proptest::prelude::*;

use super::*;
use crate::method::Method;
use crate::path_pattern::PathPattern;

fn secret(text: &str) -> Secret {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> InvalidSecret {
    text.parse::<Secret>().expect_err(text)
}

#[test]
fn the_short_form_is_a_name_and_hosts() {
    let one = secret("ANTHROPIC_API_KEY@api.anthropic.com");
    assert_eq!(one.name.as_str(), "ANTHROPIC_API_KEY");
    assert_eq!(
        one.to,
        ["api.anthropic.com".parse::<HttpsDestination>().unwrap()]
    );
    assert_eq!(one.from, SecretSource::Env("ANTHROPIC_API_KEY".to_owned()));
    assert!(one.placement.is_default());
    let others = (
        one.every_s,
        one.prefix,
        one.file,
        one.placeholder,
        one.value,
    );
    assert_eq!(others, (None, None, None, None, None));

    let two = secret("GH_TOKEN@github.com,api.github.com:8443/repos/*:GET,HEAD,*.example.com:POST");
    let to: Vec<String> = two.to.iter().map(ToString::to_string).collect();
    let expected = [
        "github.com",
        "api.github.com:8443/repos/*:GET,HEAD",
        "*.example.com:POST",
    ];
    assert_eq!(to, expected);
    assert!(two.is_for("github.com", 443) && two.is_for("api.github.com", 8443));
    assert!(!two.is_for("api.github.com", 443) && !two.is_for("example.com", 443));
}

#[test]
fn the_long_form_has_every_key() {
    let text =
        "name=GH_TOKEN,from=cmd:gh auth token,every=50m,to=github.com,to=api.github.com,as=ghp_";
    let all = secret(text);
    assert_eq!(all.from, SecretSource::Command("gh auth token".to_owned()));
    assert_eq!(
        (all.every_s, all.expires_ms()),
        (Some(3_000), Some(3_000_000))
    );
    assert_eq!(all.prefix.as_deref(), Some("ghp_"));
    assert_eq!(all.to.len(), 2);
    let written =
        "name=GH_TOKEN,to=github.com,to=api.github.com,every=50m,as=ghp_,from=cmd:gh auth token";
    assert_eq!(all.to_string(), written);
    assert_eq!(secret(written), all);

    let file = secret("to=h.example,in=header:X-Acme-Key,file=/run/key,from=file:~/.k,name=K");
    assert_eq!(file.from, SecretSource::File("~/.k".into()));
    assert_eq!(file.placement, Placement::Header("x-acme-key".to_owned()));
    assert_eq!(file.file.as_deref(), Some("/run/key"));
    assert_eq!(file.expires_ms(), None);

    let short = secret("name=K,to=h.example");
    assert_eq!(short, secret("K@h.example"));
}

#[test]
fn a_comma_belongs_to_methods_and_commands() {
    let methods = secret("name=K,to=a.example/x:GET,HEAD,to=b.example,c.example:POST,PUT");
    let to: Vec<String> = methods.to.iter().map(ToString::to_string).collect();
    assert_eq!(
        to,
        ["a.example/x:GET,HEAD", "b.example", "c.example:POST,PUT"]
    );
    let command = secret("name=K,from=cmd:jq -r '.a,.b' x=1,y=2,to=h.example");
    let expected = SecretSource::Command("jq -r '.a,.b' x=1,y=2".to_owned());
    assert_eq!(command.from, expected);
}

#[test]
fn options_that_are_no_secrets_say_why() {
    for (text, expected) in [
        ("", "is written as NAME@HOST"),
        ("GH_TOKEN", "is written as NAME@HOST"),
        ("to=h.example", "is written as NAME@HOST"),
        ("name=K,in=basic,x", "is written as NAME@HOST"),
        ("GH TOKEN@h.example", "the name of a secret consists of"),
        ("@h.example", "the name of a secret consists of"),
        ("name=,to=h.example", "the name of a secret consists of"),
        ("K@", "is not the name of a host"),
        ("K@h.example,", "is not the name of a host"),
        ("K@*", "is every host"),
        ("K@http://h.example", "is not reached over HTTPS"),
        ("K@h.example/../x", "is not the path of a rule"),
        ("name=K", "the secret K has no host"),
        ("name=K,from=env:K", "the secret K has no host"),
        ("name=K,name=L,to=h.example", "name= is given twice"),
        (
            "name=K,to=h.example,from=env:A,from=env:B",
            "from= is given twice",
        ),
        (
            "name=K,to=h.example,in=basic,in=basic",
            "in= is given twice",
        ),
        ("name=K,host=h.example", "a secret has no key 'host'"),
        ("nme=K,to=h.example", "a secret has no key 'nme'"),
        ("name=K,to=h.example,from=k", "is written as env:NAME"),
        ("name=K,to=h.example,from=cmd:", "cmd: names nothing"),
        ("name=K,to=h.example,from=given", "from=given is the mark"),
        ("name=K,to=h.example,in=body", "is not a place for a secret"),
        (
            "name=K,to=h.example,in=header:Host",
            "cannot be placed in the header host",
        ),
        ("name=K,to=h.example,as=a b", "the prefix of a placeholder"),
        ("name=K,to=h.example,as=", "the prefix of a placeholder"),
        ("name=K,to=h.example,every=50m", "cannot be read again"),
        (
            "name=K,to=h.example,from=env:A,every=50m",
            "cannot be read again",
        ),
        ("name=K,to=h.example,from=cmd:x,every=soon", "is not a time"),
        ("name=K,to=h.example,from=cmd:x,every=0", "is not a time"),
        ("name=K,to=h.example,file=key", "is not an absolute path"),
        (
            "name=K,to=h.example,file=/a/../b",
            "is not an absolute path",
        ),
        ("name=K,to=h.example,file=/a/", "is not an absolute path"),
        ("name=K,to=h.example,file=/", "is not an absolute path"),
        ("AWS_SECRET_ACCESS_KEY@s3.example.com", "it signs requests"),
    ] {
        let error = refused(text);
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert_eq!(
            error.diagnosis().kind(),
            ErrorKind::InvalidArgument,
            "{text}"
        );
    }
    let signs = refused("AWS_SECRET_ACCESS_KEY@s3.example.com").diagnosis();
    assert!(
        signs
            .advice()
            .is_some_and(|advice| advice.contains("short-lived credentials"))
    );
}

#[test]
fn a_value_in_an_option_is_refused_and_not_repeated() {
    for text in [
        "K=hunter22@h.example",
        "K=hunter22",
        "k=hunter22@h.example",
        "value=hunter22@h.example",
        "value=hunter22,name=K,to=h.example",
        "name=K,value=hunter22,to=h.example",
        "name=K,to=h.example,value=hunter22",
        "name=K,to=h.example,from=cmd:true,value=hunter22",
    ] {
        let error = refused(text);
        assert_eq!(error, InvalidSecret::Literal, "{text}");
        assert!(
            error
                .diagnosis()
                .advice()
                .is_some_and(|advice| advice.contains("from=file:"))
        );
    }
    for text in [
        "hunter-2",
        "hunter-2@h.example",
        "name=hunter-2,to=h.example",
        "name=K,hunter-2,to=h.example",
        "name=K,from=hunter-2,to=h.example",
        "name=K,from=env:A=hunter-2,to=h.example",
        "name=K,from=env:K,hunter-2,to=h.example",
        "name=K,as=hunter 2 hunter-2,to=h.example",
        "name=K,to=h.example,file=hunter-2",
        "name=K,to=https://hunter-2:hunter-2@h.example",
    ] {
        let error = refused(text);
        let diagnosis = error.diagnosis();
        let shown = format!("{error} {:?} {:?}", diagnosis.details(), diagnosis.advice());
        assert!(!shown.contains("hunter"), "{text}: {shown}");
    }
}

#[test]
fn the_number_of_destinations_is_limited() {
    let hosts = |count: usize| {
        let hosts: Vec<String> = (0..count)
            .map(|index| format!("h{index}.example"))
            .collect();
        format!("K@{}", hosts.join(","))
    };
    assert_eq!(secret(&hosts(DESTINATIONS_MAX)).to.len(), DESTINATIONS_MAX);
    let error = refused(&hosts(DESTINATIONS_MAX + 1));
    assert_eq!(
        error.to_string(),
        "the secret K has 17 destinations, the limit is 16"
    );
    assert_eq!(refused(&"a,".repeat(64 << 10)), InvalidSecret::Form);
}

#[test]
fn json_has_the_keys_of_the_option() {
    let json = r#"{"name":"K","to":["h.example/v1/*:GET"],"from":"cmd:true","every_s":60,"in":"query:key","as":"p_","file":"/run/k"}"#;
    let read: Secret = serde_json::from_str(json).unwrap();
    assert_eq!(
        read,
        secret(
            "name=K,to=h.example/v1/*:GET,from=cmd:true,every=60,in=query:key,as=p_,file=/run/k"
        )
    );
    assert_eq!(serde_json::to_string(&read).unwrap(), json);

    let short: Secret = serde_json::from_str(r#"{"name":"K","to":["h.example"]}"#).unwrap();
    assert_eq!(short, secret("K@h.example"));
    let written = r#"{"name":"K","to":["h.example"],"from":"env:K"}"#;
    assert_eq!(serde_json::to_string(&short).unwrap(), written);
}

#[test]
fn a_given_value_is_read_and_never_written() {
    let json = r#"{"name":"K","to":["h.example"],"value":"hunter22"}"#;
    let given: Secret = serde_json::from_str(json).unwrap();
    assert_eq!(given.from, SecretSource::Given);
    assert_eq!(
        given.value.as_ref().map(SecretValue::expose),
        Some("hunter22")
    );
    let written = serde_json::to_string(&given).unwrap();
    assert_eq!(written, r#"{"name":"K","to":["h.example"],"from":"given"}"#);
    let again: Secret = serde_json::from_str(&written).unwrap();
    assert_eq!((again.from, again.value), (SecretSource::Given, None));
}

#[test]
fn json_is_checked() {
    for (json, expected) in [
        (r#"{"to":["h.example"]}"#, "missing field `name`"),
        (r#"{"name":"K"}"#, "missing field `to`"),
        (r#"{"name":"K","to":[]}"#, "has no host"),
        (r#"{"name":"K","to":["*"]}"#, "is every host"),
        (
            r#"{"name":"K","to":["h.example"],"host":1}"#,
            "unknown field `host`",
        ),
        (
            r#"{"name":"K","to":["h.example"],"every_s":60}"#,
            "cannot be read again",
        ),
        (
            r#"{"name":"K","to":["h.example"],"from":"cmd:x","every_s":0}"#,
            "the limits are 1 and 2678400",
        ),
        (
            r#"{"name":"K","to":["h.example"],"from":"env:K","value":"hunter22"}"#,
            "a value and another source",
        ),
        (
            r#"{"name":"K","to":["h.example"],"placeholder":"x"}"#,
            "40 hexadecimal digits",
        ),
        (
            r#"{"name":"AWS_SECRET_ACCESS_KEY","to":["h.example"]}"#,
            "signs requests",
        ),
    ] {
        let error = serde_json::from_str::<Secret>(json)
            .expect_err(json)
            .to_string();
        assert!(error.contains(expected), "{json}: {error}");
        assert!(!error.contains("hunter22"), "{error}");
    }
}

#[test]
fn a_placeholder_is_drawn_once() {
    let mut secret = secret("name=K,to=h.example,as=ghp_");
    secret.draw_placeholder().unwrap();
    let first = secret.placeholder.clone().unwrap();
    assert!(first.as_str().starts_with("ghp_"));
    secret.draw_placeholder().unwrap();
    assert_eq!(secret.placeholder, Some(first));
    let json = serde_json::to_string(&secret).unwrap();
    assert_eq!(serde_json::from_str::<Secret>(&json).unwrap(), secret);
}

fn any_secret() -> impl Strategy<Value = Secret> {
    let path = prop::option::of("/[a-z0-9:%]{0,6}/?\\*?");
    let destination = (
        "[a-z]{1,4}\\.[a-z]{2,4}",
        prop::option::of(1_u16..),
        path,
        prop::collection::vec("[A-Z]{1,6}", 0..3),
    );
    let destination =
        destination.prop_filter_map("a destination", |(host, port, path, methods)| {
            let path = path.map(|path: String| path.parse::<PathPattern>());
            let path = path.transpose().ok()?;
            let methods = methods.iter().map(|method| method.parse::<Method>());
            let mut methods = methods.collect::<Result<Vec<_>, _>>().ok()?;
            methods.sort();
            methods.dedup();
            Some(HttpsDestination {
                host: host.parse().ok()?,
                port: port.unwrap_or(443),
                path,
                methods,
            })
        });
    let from = prop_oneof![
        "[A-Z]{1,6}".prop_map(SecretSource::Env),
        "/[a-z ]{1,9}".prop_map(|path| SecretSource::File(path.into())),
        "[a-z][a-z ,:'@*]{0,12}".prop_map(SecretSource::Command),
    ];
    let placement = prop_oneof![
        Just(Placement::Default),
        Just(Placement::Basic),
        "x-[a-z]{1,4}".prop_map(Placement::Header),
        "[a-z]{1,4}".prop_map(Placement::Query),
    ];
    let rest = (
        prop::option::of(1..=EVERY_MAX_S),
        prop::option::of("[a-zA-Z_.-]{1,5}"),
        prop::option::of("/[a-z]{1,4}(/[a-z]{1,4})?"),
    );
    let to = prop::collection::vec(destination, 1..4);
    ("[a-zA-Z_]{1,8}", to, from, placement, rest).prop_map(
        |(name, to, from, placement, (every_s, prefix, file))| {
            let mut secret = Secret::new(name.parse().unwrap(), to);
            secret.every_s = every_s.filter(|_| from.is_repeatable());
            secret.from = from;
            secret.placement = placement;
            secret.prefix = prefix;
            secret.file = file;
            secret
        },
    )
}

proptest! {
    #[test]
    fn a_secret_is_read_as_it_is_written(secret in any_secret()) {
        prop_assert_eq!(secret.to_string().parse::<Secret>(), Ok(secret.clone()));
        let json = serde_json::to_string(&secret).unwrap();
        prop_assert_eq!(serde_json::from_str::<Secret>(&json).unwrap(), secret);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}|(name=|to=|from=|cmd:|every=|in=|as=|file=|,|@|=|[a-zA-Z0-9.:/*]{1,6}){0,12}") {
        if let Ok(secret) = text.parse::<Secret>() {
            prop_assert!(secret.check().is_ok());
            prop_assert!(secret.value.is_none() && secret.placeholder.is_none());
        }
    }
}
