package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
)

// A context id that no client may use without a registration (RFC 9298 §4), and bytes behind it
const (
	unknownContext = 2
	floodPayload   = 100
)

// flood opens a tunnel and sends datagrams on it that the proxy has to drop, as fast as the connection permits. It prints how
// many it sent, and the seconds that this took.
func flood(options options, count int, target string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	outer, err := options.dialOuter(ctx)
	if err != nil {
		return err
	}
	defer outer.CloseWithError(0, "")
	request, err := options.tunnelRequest(ctx, target)
	if err != nil {
		return err
	}
	client := (&http3.Transport{EnableDatagrams: true}).NewClientConn(outer)
	_, out, response, err := connectHttp3(ctx, client, "connect-udp", request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy responded with %d", response.StatusCode)
	}
	stream := out.(*http3.RequestStream)
	datagram := append(quicvarint.Append(nil, unknownContext), make([]byte, floodPayload)...)
	begun := time.Now()
	for range count {
		if err := stream.SendDatagram(datagram); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"sent": count, "seconds": time.Since(begun).Seconds()})
}
