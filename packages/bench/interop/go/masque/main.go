// masque-go as the client of a proxy for UDP (RFC 9298), where every tunnel carries an HTTP/3 connection of its own; or, with
// -serve, as such a proxy.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/masque-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/yosida95/uritemplate/v3"
	"sheaf-interop/shared"
)

// QUIC inside of QUIC: packets of the outer connection must hold Initials of 1200 bytes.
const outerPacket = 1350

type result struct {
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"`
	Sha256 string `json:"sha256"`
	// Of the proxy
	ProxyStatus int    `json:"proxyStatus"`
	ProxyField  string `json:"proxyField"`
	NextHop     string `json:"nextHop"`
}

type client struct {
	// One of these carries the tunnels: datagrams of HTTP/3, or streams of a version of HTTP.
	connection    *masque.ClientConn
	streams       carrier
	tcp           bool
	template      *uritemplate.Template
	tls           *tls.Config
	authorization string
}

func main() {
	template := flag.String("template", "", "URI template of the proxy")
	authority := flag.String("authority", "", "file of the certificate that signed those of proxy and server")
	authorization := flag.String("authorization", "", "value of Proxy-Authorization")
	capsules := flag.String("capsules", "", "version of HTTP whose streams carry capsules: 1.1, 2 or 3; otherwise datagrams of HTTP/3")
	tcp := flag.String("tcp", "", "version of HTTP whose CONNECT carries TCP in place of UDP: 1.1, 2 or 3")
	tunnels := flag.Int("tunnels", 1, "tunnels at once")
	certificate := flag.String("serve", "", "serve as a proxy, with the certificate of this file")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	if *certificate != "" {
		if err := serve(*certificate, *key); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	results, err := run(*template, *authority, *authorization, *capsules, *tcp, *tunnels, flag.Arg(0))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(text, authority, authorization, capsules, tcp string, tunnels int, target string) ([]result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	template, err := uritemplate.New(text)
	if err != nil {
		return nil, err
	}
	proxy, err := url.Parse(text[:len("https://")+indexOfPath(text[len("https://"):])])
	if err != nil {
		return nil, err
	}
	config, err := shared.ClientTLS(authority, http3.NextProtoH3, false)
	if err != nil {
		return nil, err
	}
	if capsules != "" || tcp != "" {
		protocol := "connect-udp"
		if tcp != "" {
			protocol = ""
		}
		carry, done, err := carriers(ctx, capsules+tcp, protocol, proxy.Host, config)
		if err != nil {
			return nil, err
		}
		defer done()
		return client{nil, carry, tcp != "", template, config, authorization}.fetchAll(ctx, tunnels, target)
	}
	outer, err := quic.DialAddr(ctx, proxy.Host, config, &quic.Config{EnableDatagrams: true, InitialPacketSize: outerPacket})
	if err != nil {
		return nil, err
	}
	defer outer.CloseWithError(0, "")
	connection, err := (&masque.Transport{}).NewClientConn(outer)
	if err != nil {
		return nil, err
	}
	return client{connection, nil, false, template, config, authorization}.fetchAll(ctx, tunnels, target)
}

func indexOfPath(text string) int {
	for index, character := range text {
		if character == '/' {
			return index
		}
	}
	return len(text)
}

func (c client) fetchAll(ctx context.Context, tunnels int, target string) ([]result, error) {
	results := make([]result, tunnels)
	failures := make([]error, tunnels)
	var all sync.WaitGroup
	for index := range tunnels {
		all.Add(1)
		go func() {
			defer all.Done()
			results[index], failures[index] = c.fetch(ctx, target)
		}()
	}
	all.Wait()
	return results, errors.Join(failures...)
}

// fetch loads a page through a tunnel. A proxy that refuses the tunnel is no failure.
func (c client) fetch(ctx context.Context, target string) (result, error) {
	if c.tcp {
		return c.fetchByTcp(ctx, target)
	}
	var found result
	parsed, err := url.Parse(target)
	if err != nil {
		return found, err
	}
	tunnel, response, err := c.dial(ctx, parsed.Host)
	if response != nil {
		found.ProxyStatus = response.StatusCode
		found.ProxyField = response.Header.Get("Proxy-Status")
	}
	if err != nil {
		if response != nil {
			return found, nil
		}
		return found, err
	}
	defer tunnel.Close()
	found.NextHop = tunnel.RemoteAddr().String()
	transport := &http3.Transport{
		TLSClientConfig: c.tls,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			inner := config.Clone()
			inner.DisablePathMTUDiscovery = true
			return quic.DialEarly(ctx, tunnel, tunnel.RemoteAddr(), tlsConfig, inner)
		},
	}
	defer transport.Close()
	return found.load(transport, target)
}

// load loads a page through a tunnel.
func (found result) load(transport http.RoundTripper, target string) (result, error) {
	page, err := (&http.Client{Transport: transport}).Get(target)
	if err != nil {
		return found, err
	}
	defer page.Body.Close()
	hash := sha256.New()
	found.Status = page.StatusCode
	found.Bytes, err = io.Copy(hash, page.Body)
	found.Sha256 = fmt.Sprintf("%x", hash.Sum(nil))
	return found, err
}

// packetTunnel is a tunnel of either kind.
type packetTunnel interface {
	net.PacketConn
	RemoteAddr() net.Addr
}

// dial opens a tunnel. A response of another status comes with an error.
func (c client) dial(ctx context.Context, target string) (packetTunnel, *http.Response, error) {
	if c.streams == nil {
		request, err := masque.NewRequest(ctx, c.template, target)
		if err != nil {
			return nil, nil, err
		}
		if c.authorization != "" {
			request.Header().Set("Proxy-Authorization", c.authorization)
		}
		tunnel, response, err := c.connection.Dial(request)
		return tunnel, response, err
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, nil, err
	}
	location, err := c.template.Expand(uritemplate.Values{"target_host": uritemplate.String(host), "target_port": uritemplate.String(port)})
	if err != nil {
		return nil, nil, err
	}
	request, err := capsuleRequest(ctx, location, c.authorization)
	if err != nil {
		return nil, nil, err
	}
	in, out, response, err := c.streams(ctx, request)
	if err != nil {
		return nil, response, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusSwitchingProtocols {
		return nil, response, fmt.Errorf("the proxy responded with %d", response.StatusCode)
	}
	remote, err := nextHop(response.Header.Get("Proxy-Status"))
	if err != nil {
		return nil, response, err
	}
	return newCapsuleConn(in, out, remote), response, nil
}

// nextHop reads the address in a Proxy-Status.
func nextHop(field string) (net.Addr, error) {
	const before = `next-hop="`
	_, behind, found := strings.Cut(field, before)
	address, _, ended := strings.Cut(behind, `"`)
	if !found || !ended {
		return nil, fmt.Errorf("no next hop in %q", field)
	}
	return net.ResolveUDPAddr("udp", address)
}
