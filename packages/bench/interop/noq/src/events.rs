//! What happens to the paths of a connection, as JSON lines.

use noq::{Connection, FrameStats, Path, PathEvent, PathId, PathStatus};
use serde_json::{json, Value};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio_stream::StreamExt;

/// The paths of a connection by id, including abandoned ones, whose statistics are kept.
pub type Paths = Rc<RefCell<BTreeMap<u32, Path>>>;

/// Tells path events for as long as the connection lives. A path that the peer makes a backup
/// becomes one here too: noq leaves that to the application.
pub fn follow(connection: &Connection, tell: fn(Value)) -> Paths {
    let paths = Paths::default();
    remember(connection, &paths, PathId::ZERO);
    let (followed, found) = (connection.weak_handle(), paths.clone());
    let mut events = connection.path_events();
    tokio::task::spawn_local(async move {
        while let Some(event) = events.next().await {
            let (Ok(event), Some(connection)) = (event, followed.upgrade()) else { continue };
            match event {
                PathEvent::Established { id, .. } => {
                    remember(&connection, &found, id);
                    let path = found.borrow().get(&number(id)).map(describe);
                    tell(json!({ "event": "path established", "path": path }));
                }
                PathEvent::Abandoned { id, reason, .. } => {
                    tell(json!({ "event": "path abandoned", "id": number(id), "reason": format!("{reason:?}") }));
                }
                PathEvent::Discarded { id, .. } => tell(json!({ "event": "path discarded", "id": number(id) })),
                PathEvent::RemoteStatus { id, status, .. } => {
                    tell(json!({ "event": "path status", "id": number(id), "status": name(status) }));
                    // It may come before our own validation of the path is done.
                    remember(&connection, &found, id);
                    if let Some(path) = found.borrow().get(&number(id)) {
                        // It is refused for a path that is closed, which needs none.
                        let _ = path.set_status(status);
                    }
                }
                _ => {}
            }
        }
    });
    paths
}

fn remember(connection: &Connection, paths: &Paths, id: PathId) {
    if let Some(path) = connection.path(id) {
        paths.borrow_mut().insert(number(id), path);
    }
}

pub fn print(line: Value) {
    println!("{line}");
}

pub fn number(id: PathId) -> u32 {
    id.to_string().parse().expect("a path id is a number")
}

fn name(status: PathStatus) -> &'static str {
    match status {
        PathStatus::Available => "available",
        PathStatus::Backup => "backup",
    }
}

pub fn describe_all(paths: &Paths) -> Vec<Value> {
    paths.borrow().values().map(describe).collect()
}

/// Addresses, status (null when abandoned) and counters of a path.
pub fn describe(path: &Path) -> Value {
    let stats = path.stats();
    let addresses = path.network_path().ok();
    json!({
        "id": number(path.id()),
        "local": addresses.and_then(|pair| pair.local_ip()).map(|ip| ip.to_string()),
        "remote": addresses.map(|pair| pair.remote().to_string()),
        "status": path.status().ok().map(name),
        "rttMs": stats.rtt.as_secs_f64() * 1000.0,
        "bytesSent": stats.udp_tx.bytes,
        "bytesReceived": stats.udp_rx.bytes,
        "packetsLost": stats.lost_packets,
        "framesSent": describe_frames(&stats.frame_tx),
        "framesReceived": describe_frames(&stats.frame_rx),
    })
}

fn describe_frames(frames: &FrameStats) -> Value {
    json!({
        "stream": frames.stream,
        "ack": frames.acks,
        "pathAck": frames.path_acks,
        "pathChallenge": frames.path_challenge,
        "pathResponse": frames.path_response,
        "pathNewConnectionId": frames.path_new_connection_id,
        "pathRetireConnectionId": frames.path_retire_connection_id,
        "pathAbandon": frames.path_abandon,
        "pathStatusBackup": frames.path_status_backup,
        "pathStatusAvailable": frames.path_status_available,
        "maxPathId": frames.max_path_id,
        "pathsBlocked": frames.paths_blocked,
        "pathCidsBlocked": frames.path_cids_blocked,
    })
}
