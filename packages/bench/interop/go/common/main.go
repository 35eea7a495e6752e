// Package common is quic-go as client and server, for the interoperability tests. It builds with
// several versions of it.
package common

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"sheaf-interop/shared"
)

// Library is what differs from version to version.
type Library struct {
	// TracedConfig returns the configuration of a connection, and how many key updates it has seen.
	TracedConfig func() (*quic.Config, *atomic.Int64)
	// Sessions exercises WebTransport, for those that have it, and returns what came of it.
	Sessions func(ctx context.Context, config *tls.Config, address string) (any, error)
}

const usage = `usage: interop download [flags] ADDRESS PATH…             all paths at once over one connection
       interop webtransport --authority FILE ADDRESS     every kind of stream, datagrams, close codes
       interop serve CERTIFICATE KEY [flags]             GET /bytes/N and POST /echo; prints "ready PORT"
flags of serve:
  --retry           asks every client to prove its address
  --other-group     takes key shares of P-384 alone
flags of download:
  --authority FILE  whose certificates to take
  --connections N   connections one after the other, each with all downloads
  --resume          keep tickets from one connection to the next
  --early           ask in 0-RTT where there is a ticket
  --large-hello     a ClientHello that does not fit into one datagram
  --key-update      nothing to do: quic-go updates its keys after 100 packets
  --migrate         go over to another port when the first bytes are here`

const patience = 100 * time.Second

// Main does what the arguments say. It prints JSON, and what went wrong on standard error.
func Main(library Library) {
	if err := library.run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (library Library) run(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New(usage)
	}
	if arguments[0] == "serve" {
		return runServer(arguments[1:])
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var wanted downloadOptions
	flags := flag.NewFlagSet("interop", flag.ContinueOnError)
	authority := flags.String("authority", "", "")
	flags.IntVar(&wanted.connections, "connections", 1, "")
	flags.BoolVar(&wanted.resume, "resume", false, "")
	flags.BoolVar(&wanted.early, "early", false, "")
	largeHello := flags.Bool("large-hello", false, "")
	flags.Bool("key-update", false, "")
	flags.BoolVar(&wanted.migrate, "migrate", false, "")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	config, err := shared.ClientTLS(*authority, http3.NextProtoH3, *largeHello)
	if err != nil {
		return err
	}
	switch rest := flags.Args(); {
	case arguments[0] == "download" && len(rest) > 1:
		report, err := library.download(ctx, rest[0], rest[1:], config, wanted)
		return print(report, err)
	case arguments[0] == "webtransport" && len(rest) == 1 && library.Sessions != nil:
		report, err := library.Sessions(ctx, config, rest[0])
		return print(report, err)
	}
	return errors.New(usage)
}

func print(report any, err error) error {
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
