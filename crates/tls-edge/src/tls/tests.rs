use super::*;

fn failed(cause: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

#[test]
fn a_guest_that_sends_an_alert_or_closes_has_refused() {
    let alert = |alert| guest_end(&failed(rustls::Error::AlertReceived(alert)));
    assert_eq!(
        alert(AlertDescription::UnknownCA),
        GuestEnd::Refused(Some("unknown_ca".to_owned()))
    );
    assert_eq!(
        alert(AlertDescription::from(200)),
        GuestEnd::Refused(Some("alert 200".to_owned()))
    );
    for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
        assert_eq!(guest_end(&kind.into()), GuestEnd::Refused(None));
    }
    assert_eq!(guest_end(&io::ErrorKind::TimedOut.into()), GuestEnd::Other);
    let own = rustls::Error::General("own".to_owned());
    assert_eq!(guest_end(&failed(own)), GuestEnd::Other);
}

#[test]
fn a_certificate_is_refused_with_a_reason() {
    let reason = |error| reason_of(&failed(rustls::Error::InvalidCertificate(error)));
    assert_eq!(
        reason(CertificateError::Expired),
        "its certificate has expired"
    );
    assert_eq!(
        reason(CertificateError::NotValidForName),
        "its certificate is for another name"
    );
    assert!(reason(CertificateError::UnknownIssuer).contains("authority"));
    assert!(reason(CertificateError::Revoked).starts_with("its certificate is not valid: "));
    let eof = io::ErrorKind::UnexpectedEof.into();
    assert_eq!(
        reason_of(&eof),
        "it closed the connection during the handshake"
    );
    let late = io::ErrorKind::TimedOut.into();
    assert_eq!(reason_of(&late), "the handshake took too long");
}
