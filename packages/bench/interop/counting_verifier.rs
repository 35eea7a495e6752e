//! Verifies servers by one authority, and counts how many certificates it was shown: a handshake with a ticket shows none.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// How many certificates were shown to a client.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicUsize>);

impl Count {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes certificates of the authorities in a PEM file.
pub fn trusting(authority: &Path, provider: Arc<CryptoProvider>, count: Count) -> Result<Arc<dyn ServerCertVerifier>, crate::Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority)? {
        roots.add(certificate?)?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build()?;
    Ok(Arc::new(Counting { verifier, count }))
}

/// Counts the certificates that it verifies.
#[derive(Debug)]
struct Counting {
    verifier: Arc<WebPkiServerVerifier>,
    count: Count,
}

impl ServerCertVerifier for Counting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.count.add();
        self.verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signature: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signature: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
