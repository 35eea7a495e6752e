package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
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
