package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// streamConn is a tunnel for TCP on a stream of bytes.
type streamConn struct {
	io.Reader
	io.WriteCloser
}

func (c streamConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c streamConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c streamConn) SetDeadline(time.Time) error      { return nil }
func (c streamConn) SetReadDeadline(time.Time) error  { return nil }
func (c streamConn) SetWriteDeadline(time.Time) error { return nil }

// fetchByTcp loads a page over HTTP/1.1 through CONNECT. A proxy that refuses the tunnel is no failure.
func (c client) fetchByTcp(ctx context.Context, target string) (result, error) {
	var found result
	parsed, err := url.Parse(target)
	if err != nil {
		return found, err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: parsed.Host}, Host: parsed.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if c.authorization != "" {
		request.Header.Set("Proxy-Authorization", c.authorization)
	}
	in, out, response, err := c.streams(ctx, request.WithContext(ctx))
	if err != nil {
		return found, err
	}
	found.ProxyStatus = response.StatusCode
	found.ProxyField = response.Header.Get("Proxy-Status")
	if response.StatusCode != http.StatusOK {
		return found, nil
	}
	config := c.config.Clone()
	config.NextProtos = nil
	transport := &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		inner := tls.Client(streamConn{in, out}, config)
		return inner, inner.HandshakeContext(ctx)
	}}
	defer transport.CloseIdleConnections()
	return found.load(transport, target)
}
