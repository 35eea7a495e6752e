package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
)

// carrier sends a request for a tunnel, and returns the two directions of its stream with the response.
type carrier func(ctx context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error)

// carriers returns the way to the proxy over a version of HTTP, for extended CONNECT with a protocol, or CONNECT without one; all requests share a connection where it can carry several. The
// function closes a connection of which the system would not tell the proxy.
func carriers(ctx context.Context, version, protocol, proxy string, config *tls.Config) (carrier, func(), error) {
	nothing := func() {}
	with := func(protocol string) *tls.Config {
		own := config.Clone()
		own.NextProtos = []string{protocol}
		return own
	}
	switch version {
	case "1.1":
		return func(_ context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
			return connectHttp1(proxy, protocol, with("http/1.1"), request)
		}, nothing, nil
	case "2":
		connection, err := tls.Dial("tcp", proxy, with("h2"))
		if err != nil {
			return nil, nothing, err
		}
		client, err := (&http2.Transport{}).NewClientConn(connection)
		return func(_ context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
			return connectHttp2(client, protocol, request)
		}, nothing, err
	}
	outer, err := quic.DialAddr(ctx, proxy, with(http3.NextProtoH3), &quic.Config{})
	if err != nil {
		return nil, nothing, err
	}
	client := (&http3.Transport{}).NewClientConn(outer)
	return func(ctx context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
		return connectHttp3(ctx, client, protocol, request)
	}, func() { outer.CloseWithError(0, "") }, nil
}

func connectHttp1(proxy, protocol string, config *tls.Config, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	connection, err := tls.Dial("tcp", proxy, config)
	if err != nil {
		return nil, nil, nil, err
	}
	if protocol != "" {
		request.Method = http.MethodGet
		request.Header.Set("Connection", "Upgrade")
		request.Header.Set("Upgrade", protocol)
	}
	if err := request.Write(connection); err != nil {
		return nil, nil, nil, err
	}
	in := bufio.NewReader(connection)
	response, err := http.ReadResponse(in, request)
	return in, connection, response, err
}

func connectHttp2(client *http2.ClientConn, protocol string, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	body, out := io.Pipe()
	if protocol != "" {
		request.Header.Set(":protocol", protocol)
	}
	request.Body = body
	response, err := client.RoundTrip(request)
	if err != nil {
		return nil, nil, nil, err
	}
	return response.Body, out, response, nil
}

func connectHttp3(ctx context.Context, client *http3.ClientConn, protocol string, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	select {
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	case <-client.ReceivedSettings():
	}
	stream, err := client.OpenRequestStream(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if protocol != "" {
		request.Proto = protocol
	}
	if err := stream.SendRequestHeader(request); err != nil {
		return nil, nil, nil, err
	}
	response, err := stream.ReadResponse()
	return stream, stream, response, err
}
