//! TLS and transport settings of both roles.

use crate::{unchecked_tls, Failure};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, ServerConfig, TransportConfig};
use rcgen::CertifiedKey;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::sync::Arc;

const ALPN: &[u8] = b"hq-interop";
const PATHS: u32 = 8;

/// noq's default but for multipath. A stream window of more than 2048 packets would make noq end
/// the connection with "too many gaps" when that many wait behind a lost one.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(PATHS);
    Arc::new(transport)
}

pub fn server() -> Result<ServerConfig, Failure> {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport());
    Ok(config)
}

pub fn client() -> Result<ClientConfig, Failure> {
    let tls = unchecked_tls::client(ALPN)?;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport());
    Ok(config)
}
