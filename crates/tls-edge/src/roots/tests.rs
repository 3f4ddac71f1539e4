use msb_secrets::HostPattern;

use super::*;
use crate::authority::Authority;

#[test]
fn roots_are_the_certificates_of_a_text() {
    let hosts: [HostPattern; 1] = ["a.example".parse().unwrap()];
    let (one, other) = (
        Authority::create(&hosts).unwrap(),
        Authority::create(&hosts).unwrap(),
    );
    let text = format!(
        "a comment\n{}{}",
        one.certificate_pem(),
        other.certificate_pem()
    );
    assert_eq!(Roots::from_pem(&text).unwrap().store().len(), 2);
}

#[test]
fn a_text_without_certificates_is_refused() {
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for text in ["", "text", broken] {
        Roots::from_pem(text).expect_err(text);
    }
}
