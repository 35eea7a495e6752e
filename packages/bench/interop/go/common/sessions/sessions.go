// Package sessions exercises WebTransport.
package sessions

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quic-go/webtransport-go"
)

// Dial is the method of a client that opens a session, alike in all versions of webtransport-go.
type Dial = func(ctx context.Context, url string, header http.Header) (*http.Response, *webtransport.Session, error)

// opener opens a session on a connection of its own.
type opener func(ctx context.Context, url string) (*webtransport.Session, error)

// With returns what exercises the clients that `client` makes.
func With(client func(config *tls.Config) Dial) func(context.Context, *tls.Config, string) (any, error) {
	return func(ctx context.Context, config *tls.Config, address string) (any, error) {
		return exerciseAll(ctx, address, func(ctx context.Context, url string) (*webtransport.Session, error) {
			_, session, err := client(config)(ctx, url, nil)
			return session, err
		})
	}
}

type sessionReport struct {
	Bidirectional  bool `json:"bidirectional"`
	Unidirectional bool `json:"unidirectional"`
	// What the gateway wrote on streams of its own; the first came back to it.
	Opened   []string    `json:"opened"`
	Datagram bool        `json:"datagram"`
	Closed   closeReport `json:"closed"`
}

type closeReport struct {
	Code   uint32 `json:"code"`
	Reason string `json:"reason"`
}

// Opens two sessions: one to exercise, closed from here, and one that the gateway closes.
func exerciseAll(ctx context.Context, address string, open opener) (any, error) {
	report, err := exercise(ctx, address, open)
	if err != nil {
		return report, err
	}
	session, err := open(ctx, "https://"+address+"/close")
	if err != nil {
		return report, err
	}
	_, err = session.AcceptUniStream(ctx)
	var closed *webtransport.SessionError
	if !errors.As(err, &closed) {
		return report, fmt.Errorf("the gateway did not close the session: %w", err)
	}
	report.Closed = closeReport{uint32(closed.ErrorCode), closed.Message}
	return report, nil
}

func exercise(ctx context.Context, address string, open opener) (sessionReport, error) {
	var report sessionReport
	session, err := open(ctx, "https://"+address+"/exercise")
	if err != nil {
		return report, err
	}
	stream, err := session.AcceptStream(ctx)
	if err != nil {
		return report, err
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		return report, err
	}
	report.Opened = append(report.Opened, string(text))
	if err := writeAll(stream, text); err != nil {
		return report, err
	}
	if text, err = nextStream(ctx, session); err != nil {
		return report, err
	}
	report.Opened = append(report.Opened, string(text))

	both, err := session.OpenStreamSync(ctx)
	if err != nil {
		return report, err
	}
	sent := bytes.Repeat([]byte("both ways "), 10_000)
	written := make(chan error, 1)
	go func() { written <- writeAll(both, sent) }()
	came, err := io.ReadAll(both)
	if err = errors.Join(err, <-written); err != nil {
		return report, err
	}
	report.Bidirectional = bytes.Equal(came, sent)

	one, err := session.OpenUniStreamSync(ctx)
	if err != nil {
		return report, err
	}
	sent = bytes.Repeat([]byte("one way "), 1000)
	if err := writeAll(one, sent); err != nil {
		return report, err
	}
	if came, err = nextStream(ctx, session); err != nil {
		return report, err
	}
	report.Unidirectional = bytes.Equal(came, sent)
	report.Datagram = datagramComesBack(ctx, session)
	return report, session.CloseWithError(4242, "closed by the client")
}

func writeAll(stream io.WriteCloser, data []byte) error {
	if _, err := stream.Write(data); err != nil {
		return err
	}
	return stream.Close()
}

func nextStream(ctx context.Context, session *webtransport.Session) ([]byte, error) {
	stream, err := session.AcceptUniStream(ctx)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(stream)
}

// Datagrams may be lost: sent again until one comes back.
func datagramComesBack(ctx context.Context, session *webtransport.Session) bool {
	for attempt := range 50 {
		if session.SendDatagram(fmt.Appendf(nil, "datagram %d", attempt)) != nil {
			return false
		}
		moment, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		came, err := session.ReceiveDatagram(moment)
		cancel()
		if err == nil {
			return bytes.HasPrefix(came, []byte("datagram "))
		}
	}
	return false
}
