//! The client role: a list of steps.

use crate::events::{describe_all, follow, number, print, Paths};
use crate::{socket, tls, Failure};
use noq::{Connection, Endpoint, FourTuple, PathError, PathStatus, RecvStream, VarInt};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

const ANY: &str = "0.0.0.0:0";
const MAX_PART: usize = 1 << 16;
const MAX_WAIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

struct Download {
    target: String,
    stream: RecvStream,
    begin: Instant,
    bytes: u64,
    hash: Sha256,
}

struct Client {
    endpoint: Endpoint,
    server: SocketAddr,
    connection: Connection,
    paths: Paths,
    download: Option<Download>,
}

pub async fn run(server: &str, steps: &[&str]) -> Result<(), Failure> {
    LocalSet::new().run_until(connect(server.parse()?, steps)).await
}

async fn connect(server: SocketAddr, steps: &[&str]) -> Result<(), Failure> {
    // A path's local address is set on each packet, so one socket for any address serves all.
    let endpoint = socket::endpoint(ANY.parse()?, None)?;
    let connection = endpoint.connect_with(tls::client()?, server, "localhost")?.await?;
    connection.handshake_confirmed().await?;
    let paths = follow(&connection, print);
    print(json!({ "event": "connected", "multipath": connection.is_multipath_enabled() }));
    let mut client = Client { endpoint, server, connection, paths, download: None };
    let mut words = steps.iter().copied();
    while let Some(step) = words.next() {
        client.step(step, &mut words).await?;
    }
    client.connection.close(VarInt::from_u32(0), b"");
    client.endpoint.wait_idle().await;
    print(json!({ "event": "closed", "paths": describe_all(&client.paths) }));
    Ok(())
}

impl Client {
    async fn step(&mut self, name: &str, words: &mut impl Iterator<Item = &str>) -> Result<(), Failure> {
        let mut argument = || words.next().ok_or(format!("{name} needs a word after it"));
        match name {
            "open" => self.open(argument()?).await,
            "backup" => self.set_status(argument()?, PathStatus::Backup),
            "available" => self.set_status(argument()?, PathStatus::Available),
            "abandon" => Ok(self.path(argument()?)?.close()?),
            "key-update" => Ok(self.connection.force_key_update()),
            "get" => {
                self.start(argument()?).await?;
                self.finish().await
            }
            "start" => self.start(argument()?).await,
            "finish" => self.finish().await,
            "discarded" => self.discarded(argument()?).await,
            "rebind" => Ok(self.endpoint.rebind(socket::bind(ANY.parse()?)?)?),
            "sleep" => Ok(tokio::time::sleep(Duration::from_millis(argument()?.parse()?)).await),
            _ => Err(format!("no such step: {name}").into()),
        }
    }

    fn set_status(&self, id: &str, status: PathStatus) -> Result<(), Failure> {
        self.path(id)?.set_status(status)?;
        Ok(())
    }

    fn path(&self, id: &str) -> Result<noq::Path, Failure> {
        Ok(self.paths.borrow().get(&id.parse()?).ok_or(format!("no path {id}"))?.clone())
    }

    /// Waits until noq has forgotten an abandoned path, which it does some time after the peer's PATH_ABANDON.
    async fn discarded(&self, id: &str) -> Result<(), Failure> {
        let path = self.path(id)?;
        let begin = Instant::now();
        while path.network_path().is_ok() {
            if begin.elapsed() > MAX_WAIT {
                return Err(format!("path {id} is still there").into());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Opens a path and waits until it is validated. Connection ids for it may still be on their way.
    async fn open(&mut self, addresses: &str) -> Result<(), Failure> {
        let (local, remote) = addresses.split_once('>').unwrap_or((addresses, ""));
        let local: IpAddr = local.parse()?;
        let remote = if remote.is_empty() { self.server } else { remote.parse()? };
        let begin = Instant::now();
        loop {
            match self.connection.open_path(FourTuple::new(remote, Some(local)), PathStatus::Available).await {
                Ok(path) => {
                    self.paths.borrow_mut().insert(number(path.id()), path);
                    return Ok(());
                }
                Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) if begin.elapsed() < MAX_WAIT => {
                    tokio::time::sleep(POLL).await;
                }
                Err(error) => return Err(format!("{addresses}: {error}").into()),
            }
        }
    }

    async fn start(&mut self, target: &str) -> Result<(), Failure> {
        let (mut send, stream) = self.connection.open_bi().await?;
        send.write_all(format!("GET {target}\r\n").as_bytes()).await?;
        send.finish()?;
        let mut download = Download { target: target.into(), stream, begin: Instant::now(), bytes: 0, hash: Sha256::new() };
        download.read().await?;
        self.download = Some(download);
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), Failure> {
        let mut download = self.download.take().ok_or("nothing was started")?;
        while download.read().await? {}
        let sha256: String = download.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        print(json!({
            "event": "downloaded",
            "target": download.target,
            "bytes": download.bytes,
            "sha256": sha256,
            "seconds": download.begin.elapsed().as_secs_f64(),
            "paths": describe_all(&self.paths),
        }));
        Ok(())
    }
}

impl Download {
    /// Takes the next part; false at the end.
    async fn read(&mut self) -> Result<bool, Failure> {
        let Some(part) = self.stream.read_chunk(MAX_PART).await? else { return Ok(false) };
        self.bytes += part.len() as u64;
        self.hash.update(&part);
        Ok(true)
    }
}
