package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/quic-go/masque-go"
	"github.com/quic-go/quic-go"
)

// Largest UDP payload on a path of Ethernet
const maxPacket = 1472

// forward opens tunnels to a target, each on a connection of its own and with a local port that leads to it. It prints the
// ports, and carries packets until it is told to stop.
func forward(options options, target string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	ports := make([]string, options.tunnels)
	for index := range ports {
		outer, connection, err := options.dialProxy(ctx)
		if err != nil {
			return err
		}
		defer outer.CloseWithError(0, "")
		local, err := forwardOne(ctx, options, outer, connection, target)
		if err != nil {
			return err
		}
		defer local.Close()
		ports[index] = fmt.Sprint(local.LocalAddr().(*net.UDPAddr).Port)
	}
	fmt.Printf("ports %s\n", strings.Join(ports, " "))
	<-ctx.Done()
	return nil
}

// forwardOne opens a tunnel with a local port.
func forwardOne(ctx context.Context, options options, outer *quic.Conn, connection *masque.ClientConn, target string) (*net.UDPConn, error) {
	request, err := masque.NewRequest(ctx, options.template, target)
	if err != nil {
		return nil, err
	}
	tunnel, response, err := connection.Dial(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 200 {
		return nil, fmt.Errorf("the proxy responded with %d", response.StatusCode)
	}
	local, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	// Who sent the last packet to the port
	var peer atomic.Pointer[net.UDPAddr]
	go func() {
		buffer := make([]byte, maxPacket)
		for {
			size, from, err := local.ReadFromUDP(buffer)
			if err != nil {
				return
			}
			peer.Store(from)
			if _, err := tunnel.WriteTo(buffer[:size], nil); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	go func() {
		buffer := make([]byte, maxPacket)
		for {
			size, _, err := tunnel.ReadFrom(buffer)
			if err != nil {
				return
			}
			if to := peer.Load(); to != nil {
				local.WriteToUDP(buffer[:size], to)
			}
		}
	}()
	return local, nil
}
