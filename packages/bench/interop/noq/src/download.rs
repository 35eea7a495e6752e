//! The client of the checks that all implementations have: downloads over one connection after the other.

use crate::events::follow;
use crate::options::Options;
use crate::{socket, tls, Failure};
use noq::Connection;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

const ANY: &str = "127.0.0.1:0";
const MAX_PART: usize = 1 << 16;

pub async fn run(options: Options) -> Result<(), Failure> {
    LocalSet::new().run_until(all_connections(options)).await
}

async fn all_connections(options: Options) -> Result<(), Failure> {
    let verified = tls::verified_client(&options.authority, options.resume, options.large_hello)?;
    let mut reports = Vec::new();
    for _ in 0..options.connections {
        reports.push(one_connection(&verified, &options).await?);
    }
    println!("{}", Value::from(reports));
    Ok(())
}

async fn one_connection(verified: &tls::VerifiedClient, options: &Options) -> Result<Value, Failure> {
    let endpoint = socket::endpoint(ANY.parse()?, None)?;
    let shown = verified.certificates_shown.get();
    let connecting = endpoint.connect_with(verified.config.clone(), options.address.parse::<SocketAddr>()?, tls::HOST)?;
    let (connection, accepted) = match connecting.into_0rtt() {
        Ok((connection, accepted)) if options.early => (connection, Some(accepted)),
        Ok((connection, accepted)) => {
            accepted.await;
            (connection, None)
        }
        Err(connecting) => (connecting.await?, None),
    };
    let paths = follow(&connection, |_| ());
    let (begun, mut first_bytes) = watch::channel(false);
    let mut running = JoinSet::new();
    for path in &options.paths {
        running.spawn(get(connection.clone(), path.clone(), begun.clone()));
    }
    first_bytes.wait_for(|begun| *begun).await?;
    if options.key_update {
        connection.force_key_update();
    }
    if options.migrate {
        endpoint.rebind(socket::bind(ANY.parse()?)?)?;
    }
    let mut downloads = Vec::new();
    while let Some(done) = running.join_next().await {
        downloads.push(done??);
    }
    if options.resume {
        verified.tickets.ready().await;
    }
    // From another port noq goes on over new paths.
    let migrated = paths.borrow().iter().any(|(id, path)| *id > 0 && path.stats().frame_rx.stream > 0);
    let early = match accepted {
        Some(accepted) => accepted.await,
        None => false,
    };
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(json!({
        // Only a handshake without a ticket shows a certificate.
        "resumed": verified.certificates_shown.get() == shown,
        "early": early,
        "keyUpdates": u32::from(options.key_update),
        "migrated": migrated,
        "downloads": downloads,
    }))
}

async fn get(connection: Connection, path: String, begun: watch::Sender<bool>) -> Result<Value, Failure> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(format!("GET {path}\r\n").as_bytes()).await?;
    send.finish()?;
    let mut bytes = 0;
    let mut hash = Sha256::new();
    while let Some(part) = receive.read_chunk(MAX_PART).await? {
        begun.send_replace(true);
        bytes += part.len();
        hash.update(&part);
    }
    let sha256: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({ "path": path, "bytes": bytes, "sha256": sha256 }))
}
