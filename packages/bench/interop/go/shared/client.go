// Package shared has what the programs of all Go libraries need, whichever QUIC they speak.
package shared

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

const ticketPatience = 10 * time.Second

// ClientTLS trusts the certificates in the file authority. A large hello names 100 further protocols, so that it does not fit
// into one datagram.
func ClientTLS(authority, protocol string, largeHello bool) (*tls.Config, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", authority)
	}
	config := &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13}
	if largeHello {
		for index := range 100 {
			config.NextProtos = append(config.NextProtos, fmt.Sprintf("padding-%02d", index))
		}
	}
	return config, nil
}

// Tickets keeps tickets from one connection to the next, and tells when one has come.
type Tickets struct {
	tls.ClientSessionCache
	came chan struct{}
}

// NewTickets returns an empty cache.
func NewTickets() Tickets {
	return Tickets{tls.NewLRUClientSessionCache(4), make(chan struct{}, 1)}
}

// Put keeps a ticket.
func (tickets Tickets) Put(key string, state *tls.ClientSessionState) {
	tickets.ClientSessionCache.Put(key, state)
	select {
	case tickets.came <- struct{}{}:
	default:
	}
}

// Wait waits for the next ticket. It fails after 10 s.
func (tickets Tickets) Wait() error {
	select {
	case <-tickets.came:
		return nil
	case <-time.After(ticketPatience):
		return errors.New("no ticket came")
	}
}
