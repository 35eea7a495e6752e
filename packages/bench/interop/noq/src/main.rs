//! noq as client and server of multipath QUIC over `hq-interop`. See USAGE. What happens is printed
//! as one JSON object a line; with NOQ_TRACE set, noq's own trace goes to standard error.

#[path = "../../body.rs"]
mod body;
mod client;
#[path = "../../counting_verifier.rs"]
mod counting_verifier;
mod download;
mod events;
#[path = "../../options.rs"]
mod options;
mod serve;
mod server;
mod socket;
#[path = "../../tickets.rs"]
mod tickets;
mod tls;
#[path = "../../../peers/unchecked_tls.rs"]
mod unchecked_tls;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: noq-interop server ADDRESS:PORT
       noq-interop client ADDRESS:PORT STEP…
       noq-interop download [flags] ADDRESS:PORT PATH…    all paths at once over one connection
       noq-interop serve CERTIFICATE KEY [flags]          GET /bytes/N; prints `ready PORT`

The server answers GET /BYTES. After it, `?key-update`, `?backup=PATH` or `?abandon=PATH` is done
when the first part of the body is on its way.

Steps of the client, one after the other:
  open LOCAL[>REMOTE]   opens a path from the IP address LOCAL, to ADDRESS:PORT or REMOTE
  backup PATH           PATH_STATUS_BACKUP and PATH_STATUS_AVAILABLE for a path id
  available PATH
  abandon PATH
  discarded PATH        waits until an abandoned path is forgotten
  key-update
  rebind                goes over to another UDP port: noq opens new paths and abandons the old ones
  get TARGET            downloads, for example /large.bin
  start TARGET          begins to download and goes on when the first bytes are here
  finish                waits for the end of what `start` began
  sleep MILLISECONDS

Flags of serve:
  --retry           asks every client to prove its address
  --other-group     takes key shares of P-384 alone

Flags of download:
  --authority FILE  whose certificates to take
  --connections N   connections one after the other, each with all downloads
  --resume          keep tickets from one connection to the next
  --early           ask in 0-RTT, with such a ticket
  --large-hello     a ClientHello that does not fit into one datagram
  --key-update      replace the keys in the middle of a download
  --migrate         go over to another port in the middle of a download";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if std::env::var_os("NOQ_TRACE").is_some() {
        tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE).with_writer(std::io::stderr).init();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["server", address] => server::run(address).await,
        ["client", address, steps @ ..] => client::run(address, steps).await,
        ["download", rest @ ..] => match options::Options::parse(rest) {
            Some(options) => download::run(options).await,
            None => Err(USAGE.into()),
        },
        ["serve", certificate, key, flags @ ..] => serve::run(certificate, key, flags.contains(&"--retry"), flags.contains(&"--other-group")).await,
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    };
    if let Err(error) = outcome {
        // "connection lost" has the reason as its source.
        eprintln!("{error}: {:?}", error.source());
        std::process::exit(1);
    }
}
