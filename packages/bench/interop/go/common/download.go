package common

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"sheaf-interop/shared"
)

type downloadOptions struct {
	connections            int
	resume, early, migrate bool
}

type downloaded struct {
	Path   string `json:"path"`
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"`
	Sha256 string `json:"sha256"`
}

type connectionReport struct {
	Resumed    bool         `json:"resumed"`
	Early      bool         `json:"early"`
	KeyUpdates int64        `json:"keyUpdates"`
	Migrated   bool         `json:"migrated"`
	Downloads  []downloaded `json:"downloads"`
}

func (library Library) download(ctx context.Context, address string, paths []string, config *tls.Config, wanted downloadOptions) ([]connectionReport, error) {
	kept := shared.NewTickets()
	if wanted.resume {
		config.ClientSessionCache = kept
	}
	var reports []connectionReport
	for index := range wanted.connections {
		report, err := library.oneConnection(ctx, address, paths, config, wanted)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", index+1, err)
		}
		reports = append(reports, report)
		if wanted.resume && index == 0 {
			if err := kept.Wait(); err != nil {
				return nil, err
			}
		}
	}
	return reports, nil
}

func (library Library) oneConnection(ctx context.Context, address string, paths []string, config *tls.Config, wanted downloadOptions) (connectionReport, error) {
	var report connectionReport
	server, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return report, err
	}
	first, err := openTransport()
	if err != nil {
		return report, err
	}
	defer first.Close()
	quicConfig, keyUpdates := library.TracedConfig()
	dial, method := first.Dial, http.MethodGet
	if wanted.early {
		dial, method = first.DialEarly, http3.MethodGet0RTT
	}
	connection, err := dial(ctx, server, config, quicConfig)
	if err != nil {
		return report, err
	}
	requests := (&http3.Transport{}).NewClientConn(connection)
	begun := make(chan struct{}, len(paths))
	var switched atomic.Bool
	moved := make(chan error, 1)
	if wanted.migrate {
		second, err := openTransport()
		if err != nil {
			return report, err
		}
		defer second.Close()
		go func() { moved <- moveWhen(ctx, begun, connection, second, &switched) }()
	}
	results := make(chan result, len(paths))
	for _, path := range paths {
		go func() { results <- get(ctx, requests, method, "https://"+address+path, begun, &switched) }()
	}
	for range paths {
		one := <-results
		if one.err != nil {
			return report, one.err
		}
		report.Downloads = append(report.Downloads, one.downloaded)
		report.Migrated = report.Migrated || one.afterSwitch
	}
	if wanted.migrate {
		if err := <-moved; err != nil {
			return report, fmt.Errorf("migration: %w", err)
		}
	}
	state := connection.ConnectionState()
	report.Resumed, report.Early, report.KeyUpdates = state.TLS.DidResume, state.Used0RTT, keyUpdates.Load()
	return report, connection.CloseWithError(0, "")
}

func openTransport() (*quic.Transport, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	return &quic.Transport{Conn: socket}, nil
}

// moveWhen goes over to another socket once the first bytes are here.
func moveWhen(ctx context.Context, begun <-chan struct{}, connection *quic.Conn, transport *quic.Transport, switched *atomic.Bool) error {
	<-begun
	path, err := connection.AddPath(transport)
	if err != nil {
		return err
	}
	if err := path.Probe(ctx); err != nil {
		return err
	}
	if err := path.Switch(); err != nil {
		return err
	}
	switched.Store(true)
	return nil
}

type result struct {
	downloaded
	// Some of it came after the migration.
	afterSwitch bool
	err         error
}

func get(ctx context.Context, requests *http3.ClientConn, method, target string, begun chan<- struct{}, switched *atomic.Bool) result {
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return result{err: err}
	}
	response, err := requests.RoundTrip(request)
	if err != nil {
		return result{err: fmt.Errorf("%s: %w", target, err)}
	}
	defer response.Body.Close()
	one := result{downloaded: downloaded{Path: request.URL.Path, Status: response.StatusCode}}
	hash := sha256.New()
	part := make([]byte, 1<<16)
	for {
		count, err := response.Body.Read(part)
		hash.Write(part[:count])
		if one.Bytes == 0 && count > 0 {
			begun <- struct{}{}
		}
		one.Bytes += int64(count)
		one.afterSwitch = one.afterSwitch || (count > 0 && switched.Load())
		if err == io.EOF {
			break
		}
		if err != nil {
			return result{err: fmt.Errorf("%s after %d bytes: %w", target, one.Bytes, err)}
		}
	}
	one.Sha256 = fmt.Sprintf("%x", hash.Sum(nil))
	return one
}
