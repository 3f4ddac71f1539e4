use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{HeaderName, USER_AGENT};
use http::{Method, Request, Uri};
use msb_secrets::Secret;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{destination, held, name, placed_in, secret};

const PATH: &str = "/v1?a=1&b=2";

fn request(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::new(());
    *request.uri_mut() = uri.parse().unwrap();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request.into_parts().0
}

fn of(name: &str) -> BTreeMap<SecretName, Arc<HeldValue>> {
    let value = held(name, "the value");
    BTreeMap::from([(value.name.clone(), value)])
}

fn token(secret: &Secret) -> String {
    secret.placeholder.clone().unwrap().to_string()
}

fn places(placed: &Placed) -> Vec<&str> {
    let all = placed.misplaced.iter();
    all.map(|misplaced| misplaced.place.as_str()).collect()
}

fn basic(text: &str) -> String {
    format!("Basic {}", STANDARD.encode(text))
}

/// The forms of a header's value: what it is, and whether a secret is placed in it.
#[derive(Debug, Clone, Copy)]
enum Form {
    Whole,
    Scheme,
    User,
    Password,
    Both,
    /// No place for a value, and its text with `P` for the placeholder.
    Never(&'static str),
    /// No place for a value, and its text in Basic.
    NeverBasic(&'static str),
}

const FORMS: [Form; 17] = [
    Form::Whole,
    Form::Scheme,
    Form::User,
    Form::Password,
    Form::Both,
    Form::Never("Px"),
    Form::Never("xP"),
    Form::Never("Bearer Px"),
    Form::Never("Bearer P P"),
    Form::Never("Bearer x P"),
    Form::Never("key=P"),
    Form::Never("Bearer\tP"),
    Form::Never("Bea/rer P"),
    Form::Never("nothing"),
    Form::NeverBasic("P"),
    Form::NeverBasic("xP:Px"),
    Form::NeverBasic("nothing:x"),
];

impl Form {
    fn text(self, token: &str) -> String {
        match self {
            Self::Whole => token.to_owned(),
            Self::Scheme => format!("Bearer  {token}"),
            Self::User => basic(&format!("{token}:x")),
            Self::Password => basic(&format!("x:{token}")),
            Self::Both => basic(&format!("{token}:{token}")),
            Self::Never(text) => text.replace('P', token),
            Self::NeverBasic(text) => basic(&text.replace('P', token)),
        }
    }

    fn takes_value(self, header: &str) -> bool {
        match self {
            Self::Whole => CREDENTIALS.contains(&header),
            Self::Scheme | Self::User | Self::Password | Self::Both => header == "authorization",
            Self::Never(_) | Self::NeverBasic(_) => false,
        }
    }
}

const HEADERS: [&str; 12] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "private-token",
    "x-auth-token",
    "proxy-authorization",
    "user-agent",
    "referer",
    "cookie",
    "x-forwarded-for",
    "accept",
];

proptest! {
    #[test]
    fn a_value_is_in_its_places_and_nowhere_else(
        headers in proptest::collection::vec((0..HEADERS.len(), 0..FORMS.len()), 0..8),
        value in "[A-Z+/=%&]{8,40}",
    ) {
        let secret = secret("K@api.example.com");
        let token = token(&secret);
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, form)| (HEADERS[name], FORMS[form]))
            .collect();
        let texts: Vec<_> = headers.iter().map(|(name, form)| (*name, form.text(&token))).collect();
        let texts: Vec<_> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut request = request(PATH, &texts);
        let held = held("K", &value);
        let values = BTreeMap::from([(held.name.clone(), held)]);

        let destination = destination(vec![secret]);
        let wanted = destination.wanted(&request);
        let placed = destination.place(&mut request, &values).unwrap();

        let is_placed = |(name, form): &(&str, Form)| {
            let count = headers.iter().filter(|(other, _)| other == name).count();
            count == 1 && form.takes_value(name)
        };
        for name in HEADERS {
            let expected: Vec<_> = headers
                .iter()
                .filter(|(this, _)| *this == name)
                .map(|header| header.1.text(if is_placed(header) { &value } else { &token }))
                .collect();
            let found: Vec<_> = request.headers.get_all(name).iter().collect();
            let texts: Vec<_> = found.iter().map(|value| value.to_str().unwrap()).collect();
            prop_assert_eq!(texts, expected);
            let of_name = headers.iter().filter(|(this, _)| *this == name);
            for (header, value) in of_name.zip(found) {
                prop_assert_eq!(value.is_sensitive(), is_placed(header));
            }
        }
        let is_any = headers.iter().any(is_placed);
        prop_assert_eq!(placed.secrets().len(), usize::from(is_any));
        prop_assert_eq!(wanted, placed.secrets());
        prop_assert_eq!(&request.uri, &PATH.parse::<Uri>().unwrap());
        prop_assert_eq!(request.headers.len(), headers.len());
    }
}

#[test]
fn a_placeholder_elsewhere_stays_and_is_told() {
    let secret = secret("K@api.example.com");
    let token = token(&secret);
    let destination = destination(vec![secret]);
    let uri = format!("/bot{token}/x?key={token}");
    let bearer = format!("Bearer {token}");
    let of_proxy = basic(&format!("x{token}:y"));
    let headers = [
        ("authorization", bearer.as_str()),
        ("user-agent", token.as_str()),
        ("cookie", "a=b"),
        ("cookie", bearer.as_str()),
        ("x-api-key", token.as_str()),
        ("x-api-key", token.as_str()),
        ("proxy-authorization", of_proxy.as_str()),
    ];
    let mut request = request(&uri, &headers);
    let placed = destination.place(&mut request, &of("K")).unwrap();
    let mut places = places(&placed);
    places.sort_unstable();
    let expected = [
        "cookie",
        "path",
        "proxy-authorization",
        "query",
        "user-agent",
        "x-api-key",
    ];
    assert_eq!(places, expected);
    assert_eq!(request.headers["authorization"], "Bearer the value");
    assert!(!format!("{:?}", request.headers).contains("the value"));
    assert_eq!(request.headers[USER_AGENT], token.as_str());
    assert_eq!(request.uri.to_string(), uri);
}

#[test]
fn a_request_outside_of_the_destination_keeps_the_placeholder() {
    let secret = secret("K@api.example.com/v1/*:GET");
    let bearer = format!("Bearer {}", token(&secret));
    let destination = destination(vec![secret]);
    for (uri, method, is_placed) in [
        ("/v1/x", Method::GET, true),
        ("/v1/x?y", Method::GET, true),
        ("/v1/x", Method::POST, false),
        ("/v2", Method::GET, false),
        ("/v1/../v2", Method::GET, false),
        ("/v1/%2e%2e/v2", Method::GET, false),
    ] {
        let mut request = request(uri, &[("authorization", bearer.as_str())]);
        request.method = method;
        assert_eq!(!destination.wanted(&request).is_empty(), is_placed, "{uri}");
        let placed = destination.place(&mut request, &of("K")).unwrap();
        assert_eq!(
            request.headers["authorization"] != bearer.as_str(),
            is_placed,
            "{uri}"
        );
        let expected: &[&str] = if is_placed { &[] } else { &["request"] };
        assert_eq!(places(&placed), expected, "{uri}");
    }
}

#[test]
fn a_named_header_replaces_the_usual_ones() {
    let placement = Placement::Header("x-acme-key".to_owned());
    let secret = placed_in("K@api.example.com", placement);
    let token = token(&secret);
    let destination = destination(vec![secret]);
    let bearer = format!("Bearer {token}");
    let mut request = request(
        "/",
        &[
            ("x-acme-key", token.as_str()),
            ("authorization", bearer.as_str()),
        ],
    );
    let placed = destination.place(&mut request, &of("K")).unwrap();
    assert_eq!(request.headers["x-acme-key"], "the value");
    assert_eq!(request.headers["authorization"], bearer.as_str());
    assert_eq!(places(&placed), ["authorization"]);
    // Only Authorization has schemes.
    let mut request = self::request("/", &[("x-acme-key", bearer.as_str())]);
    let placed = destination.place(&mut request, &of("K")).unwrap();
    assert_eq!(request.headers["x-acme-key"], bearer.as_str());
    assert!(placed.values.is_empty());
}

#[test]
fn basic_takes_no_other_scheme() {
    let secret = placed_in("K@api.example.com", Placement::Basic);
    let token = token(&secret);
    let destination = destination(vec![secret]);
    let user = STANDARD.encode(format!("{token}:"));
    let unpadded = user.trim_end_matches('=');
    for (header, expected) in [
        (format!("Bearer {token}"), format!("Bearer {token}")),
        (token.clone(), token.clone()),
        (format!("Basic {user}"), basic("the value:")),
        (
            format!("basic  {unpadded}"),
            basic("the value:").replace("Basic ", "basic  "),
        ),
        (format!("Basic {user}!"), format!("Basic {user}!")),
        ("Basic".to_owned(), "Basic".to_owned()),
    ] {
        let mut request = request("/", &[("authorization", header.as_str())]);
        destination.place(&mut request, &of("K")).unwrap();
        assert_eq!(request.headers["authorization"], expected.as_str());
    }
}

#[test]
fn a_parameter_is_placed_once_and_encoded() {
    let placement = Placement::Query("key".to_owned());
    let secret = placed_in("K@api.example.com", placement);
    let token = token(&secret);
    let destination = destination(vec![secret]);
    let at = |text: &str| text.replace('P', &token);
    for (uri, expected, misplaced) in [
        ("/a?key=P", "/a?key=the%20value", false),
        ("/a?x=1&key=P&y", "/a?x=1&key=the%20value&y", false),
        ("/a?x=P&key=P", "/a?x=P&key=the%20value", true),
        ("/a?key=P&key=P", "/a?key=P&key=P", true),
        ("/a?key=P&key=1", "/a?key=P&key=1", true),
        ("/a?key=Px", "/a?key=Px", true),
        ("/a?xkey=P", "/a?xkey=P", true),
        ("/a?key", "/a?key", false),
        ("/a", "/a", false),
    ] {
        let mut request = request(&at(uri), &[]);
        let placed = destination.place(&mut request, &of("K")).unwrap();
        assert_eq!(request.uri.to_string(), at(expected));
        assert_eq!(places(&placed) == ["query"], misplaced, "{uri}");
    }
    let mut request = request("https://api.example.com/a?key=1", &[]);
    request.uri = at("https://api.example.com/a?key=P").parse().unwrap();
    destination.place(&mut request, &of("K")).unwrap();
    assert_eq!(request.uri, "https://api.example.com/a?key=the%20value");
}

#[test]
fn two_secrets_can_be_one_credential() {
    let (user, password) = (secret("U@api.example.com"), secret("P@api.example.com"));
    let header = basic(&format!("{}:{}", token(&user), token(&password)));
    let destination = destination(vec![user, password]);
    let mut request = request("/", &[("authorization", header.as_str())]);
    let mut values = of("U");
    values.insert(name("P"), held("P", "with:colon"));
    let placed = destination.place(&mut request, &values).unwrap();
    assert_eq!(
        request.headers["authorization"],
        basic("the value:with:colon").as_str()
    );
    assert_eq!(placed.secrets().len(), 2);
    assert!(placed.misplaced.is_empty(), "{:?}", placed.misplaced);
}

#[test]
fn a_value_that_does_not_fit_is_refused() {
    let secret = secret("K@api.example.com");
    let header = basic(&format!("{}:x", token(&secret)));
    let destination = destination(vec![secret]);
    let mut request = request("/", &[("authorization", header.as_str())]);
    let values = BTreeMap::from([(name("K"), held("K", "with:colon"))]);
    let refused = destination.place(&mut request, &values).unwrap_err();
    assert!(matches!(&refused, NotPlaced::Unfit { .. }), "{refused:?}");
    assert!(!refused.to_string().contains("colon"));
    let refused = destination
        .place(&mut request, &BTreeMap::new())
        .unwrap_err();
    assert!(matches!(refused, NotPlaced::NoValue { .. }));
}
