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
	common.Main(common.Library{TracedConfig: tracedConfig, Sessions: exercise})
}

func exercise(ctx context.Context, config *tls.Config, address string) (any, error) {
	return sessions.Exercise(ctx, address, func(ctx context.Context, url string) (*webtransport.Session, error) {
		_, session, err := (&webtransport.Dialer{TLSClientConfig: config}).Dial(ctx, url, nil)
		return session, err
	})
}

func tracedConfig() (*quic.Config, *atomic.Int64) {
	var updates atomic.Int64
	tracer := &logging.ConnectionTracer{UpdatedKey: func(logging.KeyPhase, bool) { updates.Add(1) }}
	trace := func(context.Context, logging.Perspective, quic.ConnectionID) *logging.ConnectionTracer { return tracer }
	return &quic.Config{Tracer: trace}, &updates
}
