// The newest webtransport-go, with the quic-go that it asks for.
package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"sheaf-interop/common"
	"sheaf-interop/common/sessions"
	"sheaf-interop/common/tracing"
)

func main() {
	common.Main(common.Library{TracedConfig: tracing.Config, Sessions: sessions.With(client)})
}

// The connection is made here and stays open: that of Transport.Dial is closed together with its
// session, before the capsule with the code of the close is in a packet.
func client(config *tls.Config) sessions.Dial {
	return func(ctx context.Context, address string, header http.Header) (*http.Response, *webtransport.Session, error) {
		target, err := url.Parse(address)
		if err != nil {
			return nil, nil, err
		}
		settings := &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true}
		connection, err := quic.DialAddr(ctx, target.Host, http3.ConfigureTLSConfig(config), settings)
		if err != nil {
			return nil, nil, err
		}
		client, err := (&webtransport.Transport{}).NewClientConn(connection)
		if err != nil {
			return nil, nil, err
		}
		return client.Dial(ctx, address, header)
	}
}
