use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Characters per line of PEM (RFC 7468, section 2).
const PEM_LINE_CHARS: usize = 64;

/// Certificates, each once, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Certificates {
    list: Vec<Vec<u8>>,
    known: HashSet<Vec<u8>>,
}

impl Certificates {
    /// Adds a certificate in the form of DER.
    pub(crate) fn add(&mut self, certificate: &[u8]) {
        if self.known.insert(certificate.to_vec()) {
            self.list.push(certificate.to_vec());
        }
    }

    /// Adds the certificates of a text. Everything else in it is left out: keys, notes, what cannot be read.
    pub(crate) fn add_pem(&mut self, text: &[u8]) {
        for certificate in CertificateDer::pem_slice_iter(text).flatten() {
            self.add(&certificate);
        }
    }

    /// Adds the certificates of a list that this one lacks.
    pub(crate) fn add_all(&mut self, others: &Self) {
        for certificate in &others.list {
            self.add(certificate);
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the certificates in the textual encoding of RFC 7468.
    pub(crate) fn pem(&self) -> String {
        self.list
            .iter()
            .map(|certificate| pem(certificate))
            .collect()
    }
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % PEM_LINE_CHARS == 0 {
            pem.push('\n');
        }
        pem.push(character);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of arbitrary bytes in the place of certificates, which are not parsed.
    fn text(certificates: &[&[u8]]) -> String {
        let mut all = Certificates::default();
        for certificate in certificates {
            all.add(certificate);
        }
        all.pem()
    }

    #[test]
    fn certificates_are_taken_once_and_in_order_and_nothing_else_is() {
        let long = [7; 100];
        let key = text(&[b"secret"]).replace("CERTIFICATE", "PRIVATE KEY");
        let trusted = text(&[b"trusted"]).replace("CERTIFICATE", "TRUSTED CERTIFICATE");
        let broken = text(&[b"broken"]).replace("YnJva2Vu", "!!!");
        let mut all = Certificates::default();
        assert!(all.is_empty());
        all.add_pem(format!("# a note\n{key}{}{trusted}", text(&[b"one", &long])).as_bytes());
        all.add_pem(format!("{broken}{}", text(&[&long, b"two"])).as_bytes());
        all.add_pem(b"-----BEGIN CERTIFICATE-----\nAAAA");
        all.add_pem(&[0xff; 64]);
        assert_eq!(all.pem(), text(&[b"one", &long, b"two"]));
        let widest = all.pem().lines().map(str::len).max();
        assert_eq!(widest, Some(PEM_LINE_CHARS));
        let mut more = Certificates::default();
        more.add(b"two");
        more.add(b"three");
        all.add_all(&more);
        assert_eq!(all.pem(), text(&[b"one", &long, b"two", b"three"]));
    }
}
