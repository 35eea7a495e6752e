//! TLS and transport settings of both roles.

use crate::counting_verifier::{self, Count};
use crate::tickets::Tickets;
use crate::{unchecked_tls, Failure};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, ServerConfig, TransportConfig};
use rcgen::CertifiedKey;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::path::Path;
use std::sync::Arc;

const ALPN: &[u8] = b"hq-interop";
pub const HOST: &str = "localhost";
const PATHS: u32 = 8;

/// noq's default but for multipath. It sends no jumbo frames: with them its server takes up to three times as long for a
/// download over loopback. A stream window of more than 2048 packets would make noq end
/// the connection with "too many gaps" when that many wait behind a lost one.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(PATHS);
    Arc::new(transport)
}

/// With a certificate of its own.
pub fn server() -> Result<ServerConfig, Failure> {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(vec![HOST.into()])?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    server_with(vec![cert.der().clone()], PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into(), provider)
}

/// With a certificate and a key from PEM files.
pub fn server_of(certificate: &Path, key: &Path, other_group: bool) -> Result<ServerConfig, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    if other_group {
        provider.kx_groups = vec![rustls::crypto::aws_lc_rs::kx_group::SECP384R1];
    }
    server_with(chain, PrivateKeyDer::from_pem_file(key)?, provider)
}

fn server_with(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>, provider: rustls::crypto::CryptoProvider) -> Result<ServerConfig, Failure> {
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    // What QUIC means by yes: RFC 9001 §4.6.1.
    tls.max_early_data_size = u32::MAX;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport());
    Ok(config)
}

pub fn client() -> Result<ClientConfig, Failure> {
    let tls = unchecked_tls::client(ALPN, rustls::crypto::aws_lc_rs::default_provider())?;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport());
    Ok(config)
}

/// A client that verifies the server, and keeps tickets from one connection to the next if that is wanted.
pub struct VerifiedClient {
    pub config: ClientConfig,
    pub certificates_shown: Count,
    pub tickets: Arc<Tickets>,
}

pub fn verified_client(authority: &Path, resume: bool, large_hello: bool) -> Result<VerifiedClient, Failure> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let (certificates_shown, tickets) = (Count::default(), Arc::new(Tickets::default()));
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(counting_verifier::trusting(authority, provider, certificates_shown.clone())?)
        .with_no_client_auth();
    let padding = if large_hello { 100 } else { 0 };
    tls.alpn_protocols = std::iter::once(ALPN.to_vec()).chain((0..padding).map(|index| format!("padding-{index:02}").into_bytes())).collect();
    tls.enable_early_data = true;
    tls.resumption = if resume { Resumption::store(tickets.clone()) } else { Resumption::disabled() };
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport());
    Ok(VerifiedClient { config, certificates_shown, tickets })
}
