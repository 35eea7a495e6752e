//! Exercises WebTransport.

use crate::options::Options;
use crate::{tls, Failure};
use quinn::Endpoint;
use serde_json::{json, Value};
use std::time::Duration;
use tokio::time::timeout;
use web_transport_quinn::{Client, RecvStream, SendStream, Session, SessionError, WebTransportError};

const MAX_BYTES: usize = 1 << 20;
const DATAGRAMS: usize = 50;
const PATIENCE: Duration = Duration::from_millis(200);

/// Opens two sessions: one to exercise, closed from here, and one that the gateway closes.
pub async fn run(options: Options) -> Result<(), Failure> {
    let mut report = exercise(&open(&options, "/exercise").await?).await?;
    let other = open(&options, "/close").await?;
    let SessionError::WebTransportError(WebTransportError::Closed(code, reason)) = other.closed().await else {
        return Err("the gateway did not close the session".into());
    };
    report["closed"] = json!({ "code": code, "reason": reason });
    println!("{report}");
    Ok(())
}

/// On a connection of its own.
async fn open(options: &Options, path: &str) -> Result<Session, Failure> {
    let port = options.address.rsplit(':').next().unwrap_or_default();
    let client = Client::new(Endpoint::client("127.0.0.1:0".parse()?)?, tls::client(options)?.config);
    Ok(client.connect(url::Url::parse(&format!("https://{}:{port}{path}", tls::HOST))?).await?)
}

async fn exercise(session: &Session) -> Result<Value, Failure> {
    let (send, mut receive) = session.accept_bi().await?;
    let text = receive.read_to_end(MAX_BYTES).await?;
    write_all(send, text.clone()).await?;
    let opened = [text, next_stream(session).await?].map(|text| String::from_utf8_lossy(&text).into_owned());

    let (send, mut receive) = session.open_bi().await?;
    let sent = b"both ways ".repeat(10_000);
    let writing = tokio::spawn(write_all(send, sent.clone()));
    let bidirectional = receive.read_to_end(MAX_BYTES).await? == sent;
    writing.await??;

    let sent = b"one way ".repeat(1000);
    write_all(session.open_uni().await?, sent.clone()).await?;
    let unidirectional = next_stream(session).await? == sent;
    let datagram = datagram_comes_back(session).await?;
    session.close(4242, b"closed by the client");
    session.closed().await;
    Ok(json!({ "bidirectional": bidirectional, "unidirectional": unidirectional, "opened": opened, "datagram": datagram }))
}

async fn write_all(mut stream: SendStream, data: Vec<u8>) -> Result<(), Failure> {
    stream.write_all(&data).await?;
    stream.finish()?;
    Ok(())
}

async fn next_stream(session: &Session) -> Result<Vec<u8>, Failure> {
    let mut stream: RecvStream = session.accept_uni().await?;
    Ok(stream.read_to_end(MAX_BYTES).await?)
}

/// Datagrams may be lost: sent again until one comes back.
async fn datagram_comes_back(session: &Session) -> Result<bool, Failure> {
    for attempt in 0..DATAGRAMS {
        session.send_datagram(format!("datagram {attempt}").into())?;
        if let Ok(came) = timeout(PATIENCE, session.read_datagram()).await {
            return Ok(came?.starts_with(b"datagram "));
        }
    }
    Ok(false)
}
