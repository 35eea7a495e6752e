//! The server: GET /bytes/N.

use crate::{body, tls, Failure};
use bytes::Bytes;
use h3::server::RequestResolver;
use http::Response;
use quinn::{Endpoint, Incoming};

pub async fn run(certificate: &str, key: &str, retry: bool, other_group: bool) -> Result<(), Failure> {
    let endpoint = Endpoint::server(tls::server(certificate.as_ref(), key.as_ref(), other_group)?, "127.0.0.1:0".parse()?)?;
    println!("ready {}", endpoint.local_addr()?.port());
    while let Some(incoming) = endpoint.accept().await {
        if retry && !incoming.remote_address_validated() {
            incoming.retry()?;
            continue;
        }
        tokio::spawn(async move {
            if let Err(error) = serve(incoming).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn serve(incoming: Incoming) -> Result<(), Failure> {
    let mut connection = h3::server::Connection::new(h3_quinn::Connection::new(incoming.await?)).await?;
    while let Some(request) = connection.accept().await? {
        tokio::spawn(async move {
            if let Err(error) = answer(request).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(resolver: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), Failure> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let count = request.uri().path().strip_prefix("/bytes/").ok_or("not found")?.parse()?;
    stream.send_response(Response::new(())).await?;
    for part in body::parts(count) {
        stream.send_data(part).await?;
    }
    stream.finish().await?;
    Ok(())
}
