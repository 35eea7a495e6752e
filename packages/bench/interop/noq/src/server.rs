//! The server role.

use crate::events::{describe_all, follow, print, Paths};
use crate::{body, socket, tls, Failure};
use noq::{Connection, Incoming, PathStatus, RecvStream, SendStream};
use serde_json::json;
use std::rc::Rc;
use tokio::task::{spawn_local, LocalSet};

const LONGEST_REQUEST: usize = 1024;

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
    let paths = follow(&connection);
    print(json!({ "event": "connected", "multipath": connection.is_multipath_enabled() }));
    let reason = loop {
        match connection.accept_bi().await {
            Ok((send, receive)) => {
                let (connection, paths) = (connection.clone(), paths.clone());
                spawn_local(async move {
                    if let Err(error) = answer(connection, paths, send, receive).await {
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

async fn answer(connection: Connection, paths: Paths, mut send: SendStream, mut receive: RecvStream) -> Result<(), Failure> {
    let request = String::from_utf8(receive.read_to_end(LONGEST_REQUEST).await?)?;
    let target = request.trim_end().strip_prefix("GET /").ok_or("no GET")?;
    let (count, action) = target.split_once('?').unwrap_or((target, ""));
    for (index, part) in body::parts(count.parse()?).enumerate() {
        send.write_chunk(part).await?;
        if index == 0 {
            act(&connection, &paths, action)?;
        }
    }
    send.finish()?;
    Ok(())
}

fn act(connection: &Connection, paths: &Paths, action: &str) -> Result<(), Failure> {
    let (name, id) = action.split_once('=').unwrap_or((action, "0"));
    let path = || -> Result<noq::Path, Failure> { Ok(Rc::clone(paths).borrow().get(&id.parse()?).ok_or("no such path")?.clone()) };
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
