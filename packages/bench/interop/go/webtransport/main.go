// The newest webtransport-go, with the quic-go that it asks for.
package main

import (
	"context"
	"crypto/tls"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/webtransport-go"

	"sheaf-interop/common"
	"sheaf-interop/common/sessions"
)

func main() {
	common.Main(common.Library{TracedConfig: tracedConfig, Sessions: exercise})
}

func exercise(ctx context.Context, config *tls.Config, address string) (any, error) {
	return sessions.Exercise(ctx, address, func(ctx context.Context, url string) (*webtransport.Session, error) {
		_, session, err := (&webtransport.Transport{TLSClientConfig: config}).Dial(ctx, url, nil)
		return session, err
	})
}

// keyUpdateCounter takes what the connection traces.
type keyUpdateCounter struct{ phases atomic.Int64 }

func (c *keyUpdateCounter) AddProducer() qlogwriter.Recorder { return c }
func (c *keyUpdateCounter) SupportsSchemas(string) bool      { return true }
func (c *keyUpdateCounter) Close() error                     { return nil }

func (c *keyUpdateCounter) RecordEvent(event qlogwriter.Event) {
	// One event for the keys of each side; those of the handshake come without a phase.
	if update, ok := event.(qlog.KeyUpdated); ok && update.KeyType == qlog.KeyTypeClient1RTT && update.KeyPhase > 0 {
		c.phases.Add(1)
	}
}

func tracedConfig() (*quic.Config, *atomic.Int64) {
	counter := &keyUpdateCounter{}
	trace := func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return counter }
	return &quic.Config{Tracer: trace}, &counter.phases
}
