package common

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"sheaf-interop/shared"
)

func runServer(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s", usage)
	}
	certificate, err := tls.LoadX509KeyPair(arguments[0], arguments[1])
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	if slices.Contains(arguments[2:], "--retry") {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	config := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}})
	if slices.Contains(arguments[2:], "--other-group") {
		config.CurvePreferences = []tls.CurveID{tls.CurveP384}
	}
	listener, err := transport.ListenEarly(config, &quic.Config{Allow0RTT: true})
	if err != nil {
		return err
	}
	fmt.Printf("ready %d\n", socket.LocalAddr().(*net.UDPAddr).Port)
	return (&http3.Server{Handler: http.HandlerFunc(answer)}).ServeListener(listener)
}

func answer(response http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodPost {
		io.Copy(response, request.Body)
		return
	}
	count, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/bytes/"))
	if err != nil || count < 0 {
		http.NotFound(response, request)
		return
	}
	response.Header().Set("content-length", strconv.Itoa(count))
	shared.WritePattern(response, count)
}
