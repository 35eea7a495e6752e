//! The server role: GET /bytes/N.

use crate::{tls, Failure};
use bytes::Bytes;
use s2n_quic::provider::endpoint_limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic::stream::BidirectionalStream;

const PART: usize = 251 * 256;
const MAX_REQUEST: usize = 1024;

/// Asks every client to prove its address.
pub struct Retry(pub bool);

impl Limiter for Retry {
    fn on_connection_attempt(&mut self, attempt: &ConnectionAttempt) -> Outcome {
        if self.0 && attempt.remote_address.port() != 0 {
            return Outcome::retry();
        }
        Outcome::allow()
    }
}

pub async fn run(kind: tls::Kind, certificate: &str, key: &str, retry: bool) -> Result<(), Failure> {
    let mut server = tls::server(kind, certificate.as_ref(), key.as_ref(), Retry(retry))?;
    println!("ready {}", server.local_addr()?.port());
    while let Some(mut connection) = server.accept().await {
        tokio::spawn(async move {
            while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
                tokio::spawn(async move {
                    if let Err(error) = answer(stream).await {
                        eprintln!("{error}");
                    }
                });
            }
        });
    }
    Ok(())
}

async fn answer(mut stream: BidirectionalStream) -> Result<(), Failure> {
    let mut request = Vec::new();
    while let Some(part) = stream.receive().await? {
        request.extend_from_slice(&part);
        if request.len() > MAX_REQUEST || request.ends_with(b"\r\n") {
            break;
        }
    }
    let text = String::from_utf8(request)?;
    let mut left: usize = text.trim().strip_prefix("GET /bytes/").ok_or("not found")?.parse()?;
    let pattern: Vec<u8> = (0..PART).map(|index| (index % 251 * 31 % 251) as u8).collect();
    let pattern = Bytes::from(pattern);
    while left > 0 {
        let part = pattern.slice(..left.min(PART));
        left -= part.len();
        stream.send(part).await?;
    }
    stream.finish()?;
    Ok(())
}
