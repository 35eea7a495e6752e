//! The client role: downloads over one connection after the other.

use crate::{tls, Failure};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::Client;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::task::JoinSet;

pub struct Options {
    connections: usize,
    resume: bool,
    large_hello: bool,
    authority: PathBuf,
    address: String,
    paths: Vec<String>,
}

impl Options {
    pub fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options { connections: 1, resume: false, large_hello: false, authority: PathBuf::new(), address: String::new(), paths: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--connections" => options.connections = words.next()?.parse().ok()?,
                "--resume" => options.resume = true,
                "--large-hello" => options.large_hello = true,
                "--authority" => options.authority = words.next()?.into(),
                address if options.address.is_empty() => options.address = address.into(),
                path => options.paths.push(path.into()),
            }
        }
        (!options.paths.is_empty()).then_some(options)
    }
}

pub async fn run(kind: tls::Kind, options: Options) -> Result<(), Failure> {
    let (mut client, certificates_seen) = tls::client(kind, &options.authority, options.resume, options.large_hello)?;
    let mut reports = Vec::new();
    for _ in 0..options.connections {
        let before = certificates_seen.get();
        let downloads = one_connection(&mut client, &options).await?;
        // Only a handshake without a ticket shows a certificate.
        reports.push(json!({ "resumed": certificates_seen.get() == before, "downloads": downloads }));
    }
    client.wait_idle().await?;
    println!("{}", Value::from(reports));
    Ok(())
}

async fn one_connection(client: &mut Client, options: &Options) -> Result<Vec<Value>, Failure> {
    let connect = Connect::new(options.address.parse::<SocketAddr>()?).with_server_name(tls::HOST);
    let connection = client.connect(connect).await?;
    let mut running = JoinSet::new();
    for path in &options.paths {
        running.spawn(get(connection.handle(), path.clone()));
    }
    let mut downloads = Vec::new();
    while let Some(done) = running.join_next().await {
        downloads.push(done??);
    }
    connection.close(0u32.into());
    Ok(downloads)
}

async fn get(mut connection: Handle, path: String) -> Result<Value, Failure> {
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(Bytes::from(format!("GET {path}\r\n"))).await?;
    stream.finish()?;
    let mut bytes = 0;
    let mut hash = Sha256::new();
    while let Some(part) = stream.receive().await? {
        bytes += part.len();
        hash.update(&part);
    }
    let sha256: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({ "path": path, "bytes": bytes, "sha256": sha256 }))
}
