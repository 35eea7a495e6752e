//! Connections to a server on this machine whose certificate is not checked.

use crate::unchecked_tls;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig, VarInt};
use rustls::crypto::aws_lc_rs::{cipher_suite::TLS13_AES_128_GCM_SHA256, default_provider};
use rustls::crypto::CryptoProvider;
use std::net::SocketAddr;
use std::sync::Arc;

pub type Requests = h3::client::SendRequest<h3_quinn::OpenStreams, bytes::Bytes>;
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A client endpoint with windows wide enough for one fast download. It offers one cipher suite, so that every gateway
/// encrypts with the same.
pub fn endpoint() -> Result<Endpoint, Failure> {
    let provider = CryptoProvider { cipher_suites: vec![TLS13_AES_128_GCM_SHA256], ..default_provider() };
    let tls = unchecked_tls::client(b"h3", provider)?;
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(16 << 20)).receive_window(VarInt::from_u32(32 << 20));
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// One HTTP/3 connection; it ends with the returned handle.
pub async fn connect(endpoint: &Endpoint, server: SocketAddr, name: &str) -> Result<Requests, Failure> {
    let connection = endpoint.connect(server, name)?.await?;
    let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
    tokio::spawn(async move {
        driver.wait_idle().await;
    });
    Ok(requests)
}

/// GET; returns the number of body bytes. An error when the status is not 200.
pub async fn get(requests: &mut Requests, uri: &str) -> Result<u64, Failure> {
    let request = http::Request::get(uri).body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    if response.status() != http::StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    let mut received = 0;
    while let Some(part) = stream.recv_data().await? {
        received += bytes::Buf::remaining(&part) as u64;
    }
    Ok(received)
}
