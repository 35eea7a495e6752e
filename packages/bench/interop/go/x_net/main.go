// golang.org/x/net/quic as client and server of hq-interop. It is QUIC alone.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"sheaf-interop/shared"
)

const usage = `usage: interop download [flags] ADDRESS PATH…     all paths at once over one connection
       interop serve CERTIFICATE KEY [flags]      answers GET /bytes/N; prints "ready PORT"
flags of serve:
  --retry           asks every client to prove its address
flags of download:
  --authority FILE  whose certificates to take
  --connections N   connections one after the other, each with all downloads
  --resume          keep tickets from one connection to the next
  --large-hello     a ClientHello that does not fit into one datagram
  --key-update      nothing to do: it updates its keys after 100 packets`

const patience = 100 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New(usage)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	flags := flag.NewFlagSet("interop", flag.ContinueOnError)
	authority := flags.String("authority", "", "")
	connections := flags.Int("connections", 1, "")
	largeHello := flags.Bool("large-hello", false, "")
	resume := flags.Bool("resume", false, "")
	flags.Bool("key-update", false, "")
	switch arguments[0] {
	case "serve":
		return serve(arguments[1:])
	case "download":
		if err := flags.Parse(arguments[1:]); err != nil {
			return err
		}
		if flags.NArg() < 2 {
			break
		}
		config, err := shared.ClientTLS(*authority, protocol, *largeHello)
		if err != nil {
			return err
		}
		reports, err := download(ctx, flags.Arg(0), flags.Args()[1:], config, *connections, *resume)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(reports)
	}
	return errors.New(usage)
}
