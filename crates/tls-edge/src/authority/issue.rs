//! The certificates themselves: their names, validity and constraints.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use msb_secrets::HostPattern;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CidrSubnet, DistinguishedName, DnType, Error,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints, SerialNumber, date_time_ymd,
};
use rustls::crypto::ring;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time by which a guest's clock may be behind.
const BEFORE: Duration = DAY;
/// The validity of a leaf certificate. Clients refuse some that are valid for much longer.
const LEAF: Duration = DAY.saturating_mul(7);
/// The validity of an authority: a sandbox lives as long as its user likes.
const AUTHORITY: Duration = DAY.saturating_mul(3_652);

/// The number of bytes of a key's identifier in the name of its authority.
const NAME_BYTES: usize = 8;

/// Returns the certificate of the authority with a key, valid for these hosts.
pub(super) fn authority(hosts: &[HostPattern], key: &KeyPair) -> Result<Certificate, Error> {
    let mut params = authority_params(key)?;
    let subtrees = hosts.iter().map(HostPattern::permitted_subtree);
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: subtrees.map(GeneralSubtree::DnsName).collect(),
        // A constraint of names alone says nothing about addresses.
        excluded_subtrees: vec![
            GeneralSubtree::IpAddress(CidrSubnet::V4([0; 4], [0; 4])),
            GeneralSubtree::IpAddress(CidrSubnet::V6([0; 16], [0; 16])),
        ],
    });
    params.self_signed(key)
}

/// Returns the issuer of leaf certificates with a key.
pub(super) fn issuer(key: KeyPair) -> Result<Issuer<'static, KeyPair>, Error> {
    Ok(Issuer::new(authority_params(&key)?, key))
}

/// Returns the parameters of the authority with a key, without constraints.
pub(super) fn authority_params(key: &KeyPair) -> Result<CertificateParams, Error> {
    let mut params = new_params(AUTHORITY)?;
    let mut name = String::from("msb sandbox ");
    for byte in params.key_identifier(key).iter().take(NAME_BYTES) {
        // A String takes all that is written.
        let _ = write!(name, "{byte:02x}");
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// Returns the certificate for one name.
pub(super) fn leaf(
    name: &str,
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
) -> Result<Certificate, Error> {
    let mut params = new_params(LEAF)?;
    params.subject_alt_names = CertificateParams::new(vec![name.to_owned()])?.subject_alt_names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.signed_by(key, issuer)
}

/// Returns the parameters that all certificates have: no name, a random serial number, a validity from yesterday.
fn new_params(validity: Duration) -> Result<CertificateParams, Error> {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let epoch = date_time_ymd(1970, 1, 1);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.serial_number = Some(serial_number()?);
    params.not_before = epoch + since_epoch.saturating_sub(BEFORE);
    params.not_after = epoch + since_epoch.saturating_add(validity);
    Ok(params)
}

/// Returns a random serial number. Some clients refuse two certificates of one authority with the same number.
fn serial_number() -> Result<SerialNumber, Error> {
    let mut bytes = [0; 16];
    let random = ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| Error::RingUnspecified)?;
    // Neither negative nor with a leading zero.
    if let Some(first) = bytes.first_mut() {
        *first = (*first & 0x3f) | 0x40;
    }
    Ok(SerialNumber::from_slice(&bytes))
}
