//! quinn as client and server of HTTP/3 with h3, and as the client of WebTransport with
//! web-transport-quinn, for the interoperability tests. See USAGE.

#[path = "../../body.rs"]
mod body;
#[path = "../../counting_verifier.rs"]
mod counting_verifier;
mod download;
#[path = "../../options.rs"]
mod options;
mod serve;
mod sessions;
#[path = "../../tickets.rs"]
mod tickets;
mod tls;

use options::Options;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: quinn-interop download [flags] ADDRESS:PORT PATH…     all paths at once over one connection
       quinn-interop webtransport [flags] ADDRESS:PORT       every kind of stream, datagrams, close codes
       quinn-interop serve CERTIFICATE KEY [flags]           GET /bytes/N; prints `ready PORT`

Flags of serve:
  --retry           asks every client to prove its address
  --other-group     takes key shares of P-384 alone

Flags of the others:
  --authority FILE  whose certificates to take
  --connections N   connections one after the other, each with all downloads
  --resume          keep tickets from one connection to the next
  --early           ask in 0-RTT, with such a ticket
  --large-hello     a ClientHello that does not fit into one datagram
  --key-update      replace the keys in the middle of a download
  --migrate         go over to another port in the middle of a download";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&words).await {
        eprintln!("{error}: {error:?}");
        std::process::exit(1);
    }
}

async fn run(words: &[&str]) -> Result<(), Failure> {
    match words {
        ["download", rest @ ..] => download::run(Options::parse(rest).ok_or(USAGE)?).await,
        ["webtransport", rest @ ..] => sessions::run(Options::parse(rest).ok_or(USAGE)?).await,
        ["serve", certificate, key, flags @ ..] => serve::run(certificate, key, flags.contains(&"--retry"), flags.contains(&"--other-group")).await,
        _ => Err(USAGE.into()),
    }
}
