package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"reflect"

	"golang.org/x/net/quic"
	"sheaf-interop/shared"
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

type result struct {
	downloaded
	err error
}

func download(ctx context.Context, address string, paths []string, config *tls.Config, connections int, resume bool) ([]connectionReport, error) {
	if resume {
		config.ClientSessionCache = shared.NewTickets()
	}
	// Closing it would wait until the last connection is forgotten.
	endpoint, err := quic.Listen("udp4", "127.0.0.1:0", nil)
	if err != nil {
		return nil, err
	}
	var reports []connectionReport
	for index := range connections {
		report, err := oneConnection(ctx, endpoint, address, paths, config)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", index+1, err)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func oneConnection(ctx context.Context, endpoint *quic.Endpoint, address string, paths []string, config *tls.Config) (connectionReport, error) {
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
	if kept, ok := config.ClientSessionCache.(shared.Tickets); ok {
		if err := kept.Wait(); err != nil {
			return report, err
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
