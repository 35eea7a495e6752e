package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	"golang.org/x/net/quic"
)

type downloaded struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Sha256 string `json:"sha256"`
}

type connectionReport struct {
	Resumed    bool         `json:"resumed"`
	KeyUpdates uint64       `json:"keyUpdates"`
	Downloads  []downloaded `json:"downloads"`
}

const ticketPatience = 10 * time.Second

// tickets tells when the server's ticket is here.
type tickets struct {
	tls.ClientSessionCache
	came chan struct{}
}

func (t tickets) Put(key string, state *tls.ClientSessionState) {
	t.ClientSessionCache.Put(key, state)
	select {
	case t.came <- struct{}{}:
	default:
	}
}

type result struct {
	downloaded
	err error
}

func clientTLS(authority string, largeHello bool) (*tls.Config, error) {
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

func download(ctx context.Context, address string, paths []string, config *tls.Config, connections int, resume bool) ([]connectionReport, error) {
	var came chan struct{}
	if resume {
		came = make(chan struct{}, 1)
		config.ClientSessionCache = tickets{tls.NewLRUClientSessionCache(4), came}
	}
	// Closing it would wait until the last connection is forgotten.
	endpoint, err := quic.Listen("udp4", "127.0.0.1:0", nil)
	if err != nil {
		return nil, err
	}
	var reports []connectionReport
	for index := range connections {
		report, err := oneConnection(ctx, endpoint, address, paths, config, came)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", index+1, err)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func oneConnection(ctx context.Context, endpoint *quic.Endpoint, address string, paths []string, config *tls.Config, ticketCame <-chan struct{}) (connectionReport, error) {
	var report connectionReport
	connection, err := endpoint.Dial(ctx, "udp4", address, &quic.Config{TLSConfig: config})
	if err != nil {
		return report, err
	}
	results := make(chan result, len(paths))
	for _, path := range paths {
		go func() { results <- get(ctx, connection, path) }()
	}
	for range paths {
		one := <-results
		if one.err != nil {
			return report, one.err
		}
		report.Downloads = append(report.Downloads, one.downloaded)
	}
	report.Resumed, report.KeyUpdates = connection.ConnectionState().DidResume, keyPhase(connection)
	if ticketCame != nil {
		select {
		case <-ticketCame:
		case <-time.After(ticketPatience):
			return report, errors.New("no ticket came")
		}
	}
	// It waits for the peer to close, too; that packet may be lost.
	connection.Close()
	return report, nil
}

// keyPhase is 1 after a first key update that the server has acknowledged. Nothing else tells of it.
func keyPhase(connection *quic.Conn) uint64 {
	const phaseBit = 4
	return reflect.ValueOf(connection).Elem().FieldByName("keysAppData").FieldByName("phase").Uint() / phaseBit
}

func get(ctx context.Context, connection *quic.Conn, path string) result {
	stream, err := connection.NewStream(ctx)
	if err != nil {
		return result{err: err}
	}
	stream.SetReadContext(ctx)
	stream.SetWriteContext(ctx)
	if _, err := fmt.Fprintf(stream, "GET %s\r\n", path); err != nil {
		return result{err: err}
	}
	if err := stream.CloseWrite(); err != nil {
		return result{err: err}
	}
	hash := sha256.New()
	count, err := io.Copy(hash, stream)
	if err != nil {
		return result{err: fmt.Errorf("%s after %d bytes: %w", path, count, err)}
	}
	return result{downloaded: downloaded{path, count, fmt.Sprintf("%x", hash.Sum(nil))}}
}
