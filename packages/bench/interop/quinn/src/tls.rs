//! TLS of both roles.

use crate::counting_verifier::{self, Count};
use crate::options::Options;
use crate::tickets::Tickets;
use crate::Failure;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ServerConfig};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

const ALPN: &[u8] = b"h3";
pub const HOST: &str = "localhost";

/// A client that verifies the server, and keeps tickets from one connection to the next if that is wanted.
pub struct VerifiedClient {
    pub config: ClientConfig,
    pub certificates_shown: Count,
    pub tickets: Arc<Tickets>,
}

pub fn client(options: &Options) -> Result<VerifiedClient, Failure> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let (certificates_shown, tickets) = (Count::default(), Arc::new(Tickets::default()));
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(counting_verifier::trusting(&options.authority, provider, certificates_shown.clone())?)
        .with_no_client_auth();
    let padding = if options.large_hello { 100 } else { 0 };
    tls.alpn_protocols = std::iter::once(ALPN.to_vec()).chain((0..padding).map(|index| format!("padding-{index:02}").into_bytes())).collect();
    tls.enable_early_data = true;
    tls.resumption = if options.resume { Resumption::store(tickets.clone()) } else { Resumption::disabled() };
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    Ok(VerifiedClient { config, certificates_shown, tickets })
}

pub fn server(certificate: &Path, key: &Path, other_group: bool) -> Result<ServerConfig, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let mut provider = aws_lc_rs::default_provider();
    if other_group {
        provider.kx_groups = vec![aws_lc_rs::kx_group::SECP384R1];
    }
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    // What QUIC means by yes: RFC 9001 §4.6.1.
    tls.max_early_data_size = u32::MAX;
    Ok(ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?)))
}
