//! Downloads over one connection after the other.

use crate::options::Options;
use crate::{tls, Failure};
use bytes::Buf;
use http::{Request, StatusCode};
use quinn::{Connection, Endpoint};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::net::{SocketAddr, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;

const ANY: &str = "127.0.0.1:0";
type Requests = h3::client::SendRequest<h3_quinn::OpenStreams, bytes::Bytes>;

pub async fn run(options: Options) -> Result<(), Failure> {
    let client = tls::client(&options)?;
    let mut reports = Vec::new();
    for _ in 0..options.connections {
        reports.push(one_connection(&client, &options).await?);
    }
    println!("{}", Value::from(reports));
    Ok(())
}

async fn one_connection(client: &tls::VerifiedClient, options: &Options) -> Result<Value, Failure> {
    let endpoint = Endpoint::client(ANY.parse()?)?;
    let shown = client.certificates_shown.get();
    let connecting = endpoint.connect_with(client.config.clone(), options.address.parse::<SocketAddr>()?, tls::HOST)?;
    let (connection, accepted) = match connecting.into_0rtt() {
        Ok((connection, accepted)) if options.early => (connection, Some(accepted)),
        Ok((connection, accepted)) => {
            accepted.await;
            (connection, None)
        }
        Err(connecting) => (connecting.await?, None),
    };
    let (downloads, migrated) = download_all(&endpoint, &connection, options).await?;
    if options.resume {
        client.tickets.ready().await;
    }
    let early = match accepted {
        Some(accepted) => accepted.await,
        None => false,
    };
    connection.close(0x100u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(json!({
        // Only a handshake without a ticket shows a certificate.
        "resumed": client.certificates_shown.get() == shown,
        "early": early,
        "keyUpdates": u32::from(options.key_update),
        "migrated": migrated,
        "downloads": downloads,
    }))
}

async fn download_all(endpoint: &Endpoint, connection: &Connection, options: &Options) -> Result<(Vec<Value>, bool), Failure> {
    let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await?;
    let driving = tokio::spawn(async move { driver.wait_idle().await });
    let (begun, mut first_bytes) = watch::channel(false);
    let mut running = JoinSet::new();
    for path in &options.paths {
        running.spawn(get(requests.clone(), options.address.clone(), path.clone(), begun.clone()));
    }
    first_bytes.wait_for(|begun| *begun).await?;
    if options.key_update {
        connection.force_key_update();
    }
    let before = connection.stats().frame_rx.stream;
    if options.migrate {
        endpoint.rebind(UdpSocket::bind(ANY)?)?;
    }
    let mut downloads = Vec::new();
    while let Some(done) = running.join_next().await {
        downloads.push(done??);
    }
    driving.abort();
    // Nothing is read from the former socket once something has come to the new one.
    Ok((downloads, options.migrate && connection.stats().frame_rx.stream > before))
}

async fn get(mut requests: Requests, authority: String, path: String, begun: watch::Sender<bool>) -> Result<Value, Failure> {
    let mut stream = requests.send_request(Request::get(format!("https://{authority}{path}")).body(())?).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    if response.status() != StatusCode::OK {
        return Err(format!("{path}: status {}", response.status()).into());
    }
    let mut bytes = 0;
    let mut hash = Sha256::new();
    while let Some(mut part) = stream.recv_data().await? {
        begun.send_replace(true);
        let part = part.copy_to_bytes(part.remaining());
        bytes += part.len();
        hash.update(&part);
    }
    let sha256: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({ "path": path, "bytes": bytes, "sha256": sha256 }))
}
