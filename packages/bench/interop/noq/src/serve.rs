//! The server of the checks that all implementations have: GET /bytes/N.

use crate::{body, socket, tls, Failure};
use noq::{Incoming, RecvStream, SendStream};

const MAX_REQUEST: usize = 1024;

pub async fn run(certificate: &str, key: &str, retry: bool, other_group: bool) -> Result<(), Failure> {
    let endpoint = socket::endpoint("127.0.0.1:0".parse()?, Some(tls::server_of(certificate.as_ref(), key.as_ref(), other_group)?))?;
    println!("ready {}", endpoint.local_addr()?.port());
    while let Some(incoming) = endpoint.accept().await {
        if retry && !incoming.remote_address_validated() {
            incoming.retry()?;
            continue;
        }
        tokio::spawn(serve(incoming));
    }
    Ok(())
}

async fn serve(incoming: Incoming) {
    let connection = match incoming.await {
        Ok(connection) => connection,
        Err(error) => return eprintln!("{error}"),
    };
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(async move {
            if let Err(error) = answer(send, receive).await {
                eprintln!("{error}");
            }
        });
    }
}

async fn answer(mut send: SendStream, mut receive: RecvStream) -> Result<(), Failure> {
    let request = String::from_utf8(receive.read_to_end(MAX_REQUEST).await?)?;
    let count = request.trim_end().strip_prefix("GET /bytes/").ok_or("not found")?.parse()?;
    for part in body::parts(count) {
        send.write_chunk(part).await?;
    }
    send.finish()?;
    Ok(())
}
