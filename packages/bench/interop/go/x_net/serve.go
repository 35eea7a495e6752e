package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/net/quic"
	"sheaf-interop/shared"
)

const protocol = "hq-interop"

func serve(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New(usage)
	}
	certificate, err := tls.LoadX509KeyPair(arguments[0], arguments[1])
	if err != nil {
		return err
	}
	endpoint, err := quic.Listen("udp4", "127.0.0.1:0", &quic.Config{
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			NextProtos:   []string{protocol},
			MinVersion:   tls.VersionTLS13,
		},
		RequireAddressValidation: slices.Contains(arguments[2:], "--retry"),
	})
	if err != nil {
		return err
	}
	fmt.Printf("ready %d\n", endpoint.LocalAddr().Port())
	for {
		connection, err := endpoint.Accept(context.Background())
		if err != nil {
			return err
		}
		go answerAll(connection)
	}
}

func answerAll(connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			connection.Close()
			return
		}
		go answer(stream)
	}
}

func answer(stream *quic.Stream) {
	line, err := bufio.NewReader(stream).ReadString('\n')
	var count int
	if err == nil {
		_, err = fmt.Sscanf(line, "GET /bytes/%d", &count)
	}
	if err != nil || count < 0 {
		stream.Reset(1)
		return
	}
	if err := shared.WritePattern(stream, count); err == nil {
		stream.Close()
	}
}
