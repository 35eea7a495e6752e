// Package tracing counts key updates with the versions of quic-go that write qlog events.
package tracing

import (
	"context"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

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

// Config returns the configuration of a connection, and how many key updates it has seen.
func Config() (*quic.Config, *atomic.Int64) {
	counter := &keyUpdateCounter{}
	trace := func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return counter }
	return &quic.Config{Tracer: trace}, &counter.phases
}
