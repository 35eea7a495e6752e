// The last webtransport-go that speaks draft-02, with its quic-go.
package main

import (
	"context"
	"crypto/tls"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/logging"
	"github.com/quic-go/webtransport-go"

	"sheaf-interop/common"
	"sheaf-interop/common/sessions"
)

func main() {
	common.Main(common.Library{TracedConfig: tracedConfig, Sessions: sessions.With(client)})
}

func client(config *tls.Config) sessions.Dial {
	return (&webtransport.Dialer{TLSClientConfig: config}).Dial
}

func tracedConfig() (*quic.Config, *atomic.Int64) {
	var updates atomic.Int64
	tracer := &logging.ConnectionTracer{UpdatedKey: func(logging.KeyPhase, bool) { updates.Add(1) }}
	trace := func(context.Context, logging.Perspective, quic.ConnectionID) *logging.ConnectionTracer { return tracer }
	return &quic.Config{Tracer: trace}, &updates
}
