//! A self-signed certificate for `localhost`.

use rcgen::CertifiedKey;

pub struct Certificate {
    pub certificate_der: Vec<u8>,
    pub key_der: Vec<u8>,
    pub certificate_pem: String,
    pub key_pem: String,
}

pub fn self_signed() -> Certificate {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("certificate");
    Certificate {
        certificate_der: cert.der().to_vec(),
        key_der: signing_key.serialize_der(),
        certificate_pem: cert.pem(),
        key_pem: signing_key.serialize_pem(),
    }
}
