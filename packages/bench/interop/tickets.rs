//! The newest ticket of the server.

use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::NamedGroup;
use std::sync::Mutex;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct Tickets {
    newest: Mutex<Option<Tls13ClientSessionValue>>,
    came: Notify,
}

impl Tickets {
    /// Waits until there is one that no connection has taken.
    pub async fn ready(&self) {
        while self.newest.lock().unwrap().is_none() {
            self.came.notified().await;
        }
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        *self.newest.lock().unwrap() = Some(ticket);
        self.came.notify_one();
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.newest.lock().unwrap().take()
    }
}
