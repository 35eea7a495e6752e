package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/quic-go/masque-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/yosida95/uritemplate/v3"
)

// serve runs masque-go as a proxy on a free port until it is told to stop. It permits every target.
func serve(certificateFile, keyFile string) error {
	certificate, err := tls.LoadX509KeyPair(certificateFile, keyFile)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer socket.Close()
	address := socket.LocalAddr().String()
	proxy := &masque.Proxy{}
	handler := http.NewServeMux()
	handler.HandleFunc("/masque", func(writer http.ResponseWriter, request *http.Request) {
		// The port is that of a relay in some tests.
		template := uritemplate.MustNew("https://" + request.Host + "/masque?h={target_host}&p={target_port}")
		parsed, err := masque.ParseProxyRequest(request, template)
		if err != nil {
			writer.WriteHeader(http.StatusBadRequest)
			return
		}
		if err := proxy.Proxy(writer, parsed); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	server := http3.Server{
		Handler:         handler,
		EnableDatagrams: true,
		TLSConfig:       http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}}),
		QUICConfig:      &quic.Config{EnableDatagrams: true, InitialPacketSize: outerPacket},
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	context.AfterFunc(stop, func() {
		proxy.Close()
		server.Close()
	})
	fmt.Printf("serving %s\n", address)
	if err := server.Serve(socket); stop.Err() == nil {
		return err
	}
	return nil
}
