//! `http-client SERVER NAME download PATH` fetches once;
//! `http-client SERVER NAME requests PATH CONNECTIONS SECONDS` keeps one request open on each
//! connection for that long. SERVER is `address:port`, NAME the server's name. One JSON line.

mod connect;
#[path = "../../unchecked_tls.rs"]
mod unchecked_tls;

use connect::{connect, endpoint, get, Failure};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

async fn download(server: SocketAddr, name: &str, uri: &str) -> Result<serde_json::Value, Failure> {
    let endpoint = endpoint()?;
    let mut requests = connect(&endpoint, server, name).await?;
    let start = Instant::now();
    let bytes = get(&mut requests, uri).await?;
    let elapsed = start.elapsed();
    Ok(serde_json::json!({ "bytes": bytes, "seconds": elapsed.as_secs_f64() }))
}

async fn requests(server: SocketAddr, name: &str, uri: &str, connections: usize, length: Duration) -> Result<serde_json::Value, Failure> {
    let endpoint = endpoint()?;
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(connect(&endpoint, server, name).await?);
    }
    let start = Instant::now();
    let deadline = start + length;
    let workers: Vec<_> = open
        .into_iter()
        .map(|mut connection| {
            let uri = uri.to_owned();
            tokio::spawn(async move {
                let (mut done, mut failed) = (0u64, 0u64);
                while Instant::now() < deadline {
                    match get(&mut connection, &uri).await {
                        Ok(_) => done += 1,
                        Err(error) => {
                            eprintln!("{error}");
                            failed += 1;
                            break;
                        }
                    }
                }
                (done, failed)
            })
        })
        .collect();
    let (mut done, mut failed) = (0, 0);
    for worker in workers {
        let (one_done, one_failed) = worker.await?;
        done += one_done;
        failed += one_failed;
    }
    Ok(serde_json::json!({ "requests": done, "failed": failed, "seconds": start.elapsed().as_secs_f64() }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [server, name, "download", path] => {
            let server: SocketAddr = server.parse().expect("SERVER is address:port");
            download(server, name, &format!("https://{name}:{}{path}", server.port())).await
        }
        [server, name, "requests", path, connections, seconds] => {
            let server: SocketAddr = server.parse().expect("SERVER is address:port");
            let connections = connections.parse().expect("CONNECTIONS is a number");
            let length = Duration::from_secs_f64(seconds.parse().expect("SECONDS is a number"));
            requests(server, name, &format!("https://{name}:{}{path}", server.port()), connections, length).await
        }
        _ => {
            eprintln!("usage: http-client SERVER NAME download PATH | requests PATH CONNECTIONS SECONDS");
            std::process::exit(2);
        }
    };
    match outcome {
        Ok(result) => println!("{result}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
