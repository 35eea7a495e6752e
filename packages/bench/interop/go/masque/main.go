// masque-go as the client of a proxy for UDP (RFC 9298), where every tunnel carries an HTTP/3 connection of its own; with
// -forward, as a client that carries packets of other programs; with -flood, as a hostile one; or, with -serve, as such a proxy.
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
	// How often the page was loaded, with -for
	Loads int `json:"loads,omitempty"`
	// Of the proxy
	ProxyStatus int    `json:"proxyStatus"`
	ProxyField  string `json:"proxyField"`
	NextHop     string `json:"nextHop"`
}

type client struct {
	// One of these carries the tunnels: datagrams of HTTP/3, or streams of a version of HTTP.
	connection *masque.ClientConn
	streams    carrier
	options
}

// options are those of the command line.
type options struct {
	template      *uritemplate.Template
	proxy         string
	config        *tls.Config
	authorization string
	capsules      string
	tcp           string
	tunnels       int
	length        time.Duration
}

func main() {
	template := flag.String("template", "", "URI template of the proxy")
	authority := flag.String("authority", "", "file of the certificate that signed those of proxy and server")
	var options options
	flag.StringVar(&options.authorization, "authorization", "", "value of Proxy-Authorization")
	flag.StringVar(&options.capsules, "capsules", "", "version of HTTP whose streams carry capsules: 1.1, 2 or 3; otherwise datagrams of HTTP/3")
	flag.StringVar(&options.tcp, "tcp", "", "version of HTTP whose CONNECT carries TCP in place of UDP: 1.1, 2 or 3")
	flag.IntVar(&options.tunnels, "tunnels", 1, "tunnels at once")
	flag.DurationVar(&options.length, "for", 0, "load the page again and again for so long, through the same tunnels; tells what the last time brought")
	forwards := flag.Bool("forward", false, "open tunnels to HOST:PORT, each on its own connection and with a local port that leads to it")
	unknown := flag.Int("flood", 0, "send so many datagrams with a context id that nobody knows")
	certificate := flag.String("serve", "", "serve as a proxy, with the certificate of this file")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	err := func() error {
		if *certificate != "" {
			return serve(*certificate, *key)
		}
		if err := options.read(*template, *authority); err != nil {
			return err
		}
		if *forwards {
			return forward(options, flag.Arg(0))
		}
		if *unknown > 0 {
			return flood(options, *unknown, flag.Arg(0))
		}
		results, err := run(options, flag.Arg(0))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(results)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read reads the template of the proxy, and whom to trust.
func (o *options) read(text, authority string) (err error) {
	if o.template, err = uritemplate.New(text); err != nil {
		return err
	}
	proxy, err := url.Parse(text[:len("https://")+indexOfPath(text[len("https://"):])])
	if err != nil {
		return err
	}
	o.proxy = proxy.Host
	o.config, err = shared.ClientTLS(authority, http3.NextProtoH3, false)
	return err
}

// dialOuter opens a connection to the proxy.
func (o options) dialOuter(ctx context.Context) (*quic.Conn, error) {
	return quic.DialAddr(ctx, o.proxy, o.config, &quic.Config{EnableDatagrams: true, InitialPacketSize: outerPacket})
}

// dialProxy opens a connection for tunnels of masque-go.
func (o options) dialProxy(ctx context.Context) (*quic.Conn, *masque.ClientConn, error) {
	outer, err := o.dialOuter(ctx)
	if err != nil {
		return nil, nil, err
	}
	connection, err := (&masque.Transport{}).NewClientConn(outer)
	return outer, connection, err
}

func run(options options, target string) ([]result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), options.length+100*time.Second)
	defer cancel()
	if options.capsules != "" || options.tcp != "" {
		protocol := "connect-udp"
		if options.tcp != "" {
			protocol = ""
		}
		carry, done, err := carriers(ctx, options.capsules+options.tcp, protocol, options.proxy, options.config)
		if err != nil {
			return nil, err
		}
		defer done()
		return client{nil, carry, options}.fetchAll(ctx, target)
	}
	outer, connection, err := options.dialProxy(ctx)
	if err != nil {
		return nil, err
	}
	defer outer.CloseWithError(0, "")
	return client{connection, nil, options}.fetchAll(ctx, target)
}

func indexOfPath(text string) int {
	for index, character := range text {
		if character == '/' {
			return index
		}
	}
	return len(text)
}

func (c client) fetchAll(ctx context.Context, target string) ([]result, error) {
	results := make([]result, c.tunnels)
	failures := make([]error, c.tunnels)
	var all sync.WaitGroup
	for index := range c.tunnels {
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
	if c.tcp != "" {
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
		TLSClientConfig: c.config,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			inner := config.Clone()
			inner.DisablePathMTUDiscovery = true
			return quic.DialEarly(ctx, tunnel, tunnel.RemoteAddr(), tlsConfig, inner)
		},
	}
	defer transport.Close()
	return c.loadAll(found, transport, target)
}

// loadAll loads a page through a tunnel, again and again if it is told to.
func (c client) loadAll(found result, transport http.RoundTripper, target string) (result, error) {
	if c.length == 0 {
		return found.load(transport, target)
	}
	for begun := time.Now(); time.Since(begun) < c.length; {
		loaded, err := found.load(transport, target)
		if err == nil && found.Loads > 0 && loaded.Sha256 != found.Sha256 {
			err = fmt.Errorf("the page has another hash after %d times", found.Loads)
		}
		if err != nil {
			return loaded, err
		}
		loaded.Loads++
		found = loaded
	}
	return found, nil
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
	request, err := c.tunnelRequest(ctx, target)
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

// tunnelRequest returns a request for a tunnel without masque-go.
func (o options) tunnelRequest(ctx context.Context, target string) (*http.Request, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	location, err := o.template.Expand(uritemplate.Values{"target_host": uritemplate.String(host), "target_port": uritemplate.String(port)})
	if err != nil {
		return nil, err
	}
	return capsuleRequest(ctx, location, o.authorization)
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
