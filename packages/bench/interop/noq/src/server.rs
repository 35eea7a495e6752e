//! The server role.

use crate::events::{describe_all, follow, print};
use crate::{body, socket, tls, Failure};
use noq::{Connection, Incoming, PathStatus, RecvStream, SendStream, VarInt};
use serde_json::json;
use tokio::task::{spawn_local, LocalSet};

const MAX_REQUEST: usize = 1024;

pub async fn run(address: &str) -> Result<(), Failure> {
    let endpoint = socket::endpoint(address.parse()?, Some(tls::server()?))?;
    print(json!({ "event": "listening", "port": endpoint.local_addr()?.port() }));
    let serve = async {
        while let Some(incoming) = endpoint.accept().await {
            spawn_local(async {
                if let Err(error) = serve(incoming).await {
                    print(json!({ "event": "failed", "reason": error.to_string() }));
                }
            });
        }
    };
    LocalSet::new().run_until(serve).await;
    Ok(())
}

async fn serve(incoming: Incoming) -> Result<(), Failure> {
    let connection = incoming.await?;
    let paths = follow(&connection, print);
    print(json!({ "event": "connected", "multipath": connection.is_multipath_enabled() }));
    let reason = loop {
        match connection.accept_bi().await {
            Ok((send, receive)) => {
                let connection = connection.clone();
                spawn_local(async move {
                    if let Err(error) = answer(connection, send, receive).await {
                        print(json!({ "event": "request failed", "reason": error.to_string() }));
                    }
                });
            }
            Err(error) => break error,
        }
    };
    print(json!({ "event": "closed", "reason": reason.to_string(), "paths": describe_all(&paths) }));
    Ok(())
}

async fn answer(connection: Connection, mut send: SendStream, mut receive: RecvStream) -> Result<(), Failure> {
    let request = String::from_utf8(receive.read_to_end(MAX_REQUEST).await?)?;
    let target = request.trim_end().strip_prefix("GET /").ok_or("no GET")?;
    let (count, action) = target.split_once('?').unwrap_or((target, ""));
    let outcome = send_body(&connection, &mut send, count.parse()?, action).await;
    if outcome.is_err() {
        // Dropping the stream would end it as if the body were whole.
        send.reset(VarInt::from_u32(0))?;
    }
    outcome
}

async fn send_body(connection: &Connection, send: &mut SendStream, count: u64, action: &str) -> Result<(), Failure> {
    for (index, part) in body::parts(count).enumerate() {
        send.write_chunk(part).await?;
        if index == 0 {
            act(connection, action)?;
        }
    }
    send.finish()?;
    Ok(())
}

fn act(connection: &Connection, action: &str) -> Result<(), Failure> {
    let (name, id) = action.split_once('=').unwrap_or((action, "0"));
    let path = || -> Result<noq::Path, Failure> { Ok(connection.path(id.parse::<u32>()?.into()).ok_or("no such path")?) };
    match name {
        "" => {}
        "key-update" => connection.force_key_update(),
        "backup" => {
            path()?.set_status(PathStatus::Backup)?;
        }
        "abandon" => path()?.close()?,
        _ => return Err("no such action".into()),
    }
    Ok(())
}
