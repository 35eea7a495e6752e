package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"golang.org/x/net/http2"
)

// The capsule of a datagram (RFC 9297 §3.5)
const datagramCapsule = 0

// capsuleConn is a tunnel whose packets travel in DATAGRAM capsules on a stream of bytes.
type capsuleConn struct {
	in     *bufio.Reader
	out    io.WriteCloser
	remote net.Addr
	local  net.Addr
	lock   sync.Mutex
}

func newCapsuleConn(in io.Reader, out io.WriteCloser, remote net.Addr) *capsuleConn {
	return &capsuleConn{in: bufio.NewReader(in), out: out, remote: remote, local: &net.UDPAddr{}}
}

func (c *capsuleConn) ReadFrom(packet []byte) (int, net.Addr, error) {
	for {
		kind, value, err := http3.ParseCapsule(quicvarint.NewReader(c.in))
		if err != nil {
			return 0, nil, err
		}
		context, err := quicvarint.Read(quicvarint.NewReader(value))
		if err != nil {
			return 0, nil, err
		}
		// As curl, which takes no others.
		if kind != datagramCapsule || context != 0 {
			return 0, nil, fmt.Errorf("a capsule of type %d, context %d", kind, context)
		}
		size, err := io.ReadFull(value, packet)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return 0, nil, err
		}
		return size, c.remote, nil
	}
}

func (c *capsuleConn) WriteTo(packet []byte, _ net.Addr) (int, error) {
	var capsule bytes.Buffer
	if err := http3.WriteCapsule(&capsule, datagramCapsule, append([]byte{0}, packet...)); err != nil {
		return 0, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	_, err := c.out.Write(capsule.Bytes())
	return len(packet), err
}

func (c *capsuleConn) Close() error                     { return c.out.Close() }
func (c *capsuleConn) RemoteAddr() net.Addr             { return c.remote }
func (c *capsuleConn) LocalAddr() net.Addr              { return c.local }
func (c *capsuleConn) SetDeadline(time.Time) error      { return nil }
func (c *capsuleConn) SetReadDeadline(time.Time) error  { return nil }
func (c *capsuleConn) SetWriteDeadline(time.Time) error { return nil }

// carrier sends a request for a tunnel, and returns the two directions of its stream with the response.
type carrier func(ctx context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error)

// carriers returns the way to the proxy over a version of HTTP; all requests share a connection where it can carry several. The
// function closes a connection of which the system would not tell the proxy.
func carriers(ctx context.Context, version, proxy string, config *tls.Config) (carrier, func(), error) {
	nothing := func() {}
	with := func(protocol string) *tls.Config {
		own := config.Clone()
		own.NextProtos = []string{protocol}
		return own
	}
	switch version {
	case "1.1":
		return func(_ context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
			return upgrade(proxy, with("http/1.1"), request)
		}, nothing, nil
	case "2":
		connection, err := tls.Dial("tcp", proxy, with("h2"))
		if err != nil {
			return nil, nothing, err
		}
		client, err := (&http2.Transport{}).NewClientConn(connection)
		return func(_ context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
			return connectHttp2(client, request)
		}, nothing, err
	}
	outer, err := quic.DialAddr(ctx, proxy, with(http3.NextProtoH3), &quic.Config{})
	if err != nil {
		return nil, nothing, err
	}
	client := (&http3.Transport{}).NewClientConn(outer)
	return func(ctx context.Context, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
		return connectHttp3(ctx, client, request)
	}, func() { outer.CloseWithError(0, "") }, nil
}

func upgrade(proxy string, config *tls.Config, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	connection, err := tls.Dial("tcp", proxy, config)
	if err != nil {
		return nil, nil, nil, err
	}
	request.Method = http.MethodGet
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "connect-udp")
	if err := request.Write(connection); err != nil {
		return nil, nil, nil, err
	}
	in := bufio.NewReader(connection)
	response, err := http.ReadResponse(in, request)
	return in, connection, response, err
}

func connectHttp2(client *http2.ClientConn, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	body, out := io.Pipe()
	request.Header.Set(":protocol", "connect-udp")
	request.Body = body
	response, err := client.RoundTrip(request)
	if err != nil {
		return nil, nil, nil, err
	}
	return response.Body, out, response, nil
}

func connectHttp3(ctx context.Context, client *http3.ClientConn, request *http.Request) (io.Reader, io.WriteCloser, *http.Response, error) {
	select {
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	case <-client.ReceivedSettings():
	}
	stream, err := client.OpenRequestStream(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	request.Proto = "connect-udp"
	if err := stream.SendRequestHeader(request); err != nil {
		return nil, nil, nil, err
	}
	response, err := stream.ReadResponse()
	return stream, stream, response, err
}

// capsuleRequest asks for a tunnel to a target, such as `127.0.0.1:443`.
func capsuleRequest(ctx context.Context, location string, authorization string) (*http.Request, error) {
	parsed, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodConnect, URL: parsed, Host: parsed.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	request.Header.Set("Capsule-Protocol", "?1")
	if authorization != "" {
		request.Header.Set("Proxy-Authorization", authorization)
	}
	return request.WithContext(ctx), nil
}
