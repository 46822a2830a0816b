package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"
)

// Rewrite says when the User-Agent of carried requests is replaced. The zero
// value never does.
type Rewrite uint8

// The values of agent.rewrite.
const (
	RewriteNever Rewrite = iota
	RewriteMissing
	RewriteAlways
)

// Options make a Proxy. The zero value of every choice refuses or limits; the
// fields marked required must be set.
type Options struct {
	Decider   Decider           // required
	Transport http.RoundTripper // required: how requests are carried
	// Dial opens tunnels; required. Like Transport it must refuse the addresses
	// that may not be dialled, with a *netguard.DeniedError.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Monitor bool // decide and record, but do not refuse what robots.txt disallows
	// Leaf returns a certificate for the names, the first of which is the
	// tunnel's host. Nil: nothing is intercepted, every CONNECT is a tunnel.
	Leaf         func(names ...string) (*tls.Certificate, error)
	HTTP2        bool  // offer HTTP/2 to clients inside interception
	TunnelHosts  Hosts // never intercepted
	TunnelPolicy TunnelPolicy
	ConnectPorts []uint16 // that CONNECT may name; empty: any

	UserAgent         string // what Rewrite puts
	Rewrite           Rewrite
	UnreachableStatus int // of a refusal for an unreachable robots.txt; 0: 403

	HeaderBytes   int           // bound of a request's header section; 0: net/http's 1 MiB
	HeaderTimeout time.Duration // for a header section or a TLS handshake; 0: none
	IdleTimeout   time.Duration // of a connection between requests, and of a body that does not move; 0: HeaderTimeout

	// Connections bounds the client connections, tunnels included, and
	// ConnectionsPerClient those of one address, of IPv6 one /64; 0 does not. A few
	// more are accepted to be answered with a 503 (reason limit) and closed; beyond
	// these they are closed at once.
	Connections, ConnectionsPerClient int

	// TLS makes the proxy port speak TLS, for https:// proxy URLs, and HTTP/1.1
	// inside it. Nil: it is in the open.
	TLS *tls.Config

	// Authenticate reports whether a password is the user's. retry is when it makes
	// sense to ask again, after too many failures. Nil: everybody may use the proxy.
	Authenticate func(ctx context.Context, user, password string, from netip.Addr) (ok bool, retry time.Time)

	// Ready returns why no request may be served at present; nil: they may. It is
	// asked for each and must not wait. Nil: they always may.
	Ready func() error

	// Direct answers who asks the proxy port directly, and http://heed.invalid/.
	// Nil: a 400 says what this is.
	Direct http.Handler

	// OnRecord is called once for every finished exchange, from many goroutines.
	// Nil: nobody is told.
	OnRecord func(*Record)
	Log      *slog.Logger // diagnostics; nil: none
}

// Proxy is a forward proxy that obeys robots.txt. Make it with New; it is safe
// for concurrent use. Serve and Shutdown may each be called once, Change at any time.
type Proxy struct {
	settings    atomic.Pointer[settings] // never nil
	leaf        func(names ...string) (*tls.Certificate, error)
	http2       bool
	headerBytes int
	page        http.Handler // nil: none
	pseudonym   string       // in Via
	ready       func() error // nil: always
	distrust    distrust

	headerTimeout time.Duration
	idleTimeout   time.Duration
	onRecord      func(*Record)
	log           *slog.Logger

	goproxy     *goproxy.ProxyHttpServer
	tlsConfig   *tls.Config // of intercepted connections
	tlsLocal    *tls.Config // the same, for clients on this machine
	listenTLS   *tls.Config // of the proxy port; nil: in the open
	outer       *http.Server
	innerServer *http.Server
	inner       *pipeListener
	innerDone   chan struct{}

	cancel  context.CancelCauseFunc // ends the exchanges under way
	started atomic.Bool
	opening connSet // client connections from which no request has come yet
	tunnels connSet
	sockets connSet      // WebSockets
	active  atomic.Int64 // exchanges under way
	gate    gate
	ids     ids
}

// New returns a Proxy. The error says which required option is missing.
func New(o Options) (*Proxy, error) {
	p := &Proxy{
		leaf: o.Leaf, http2: o.HTTP2,
		headerBytes: o.HeaderBytes, page: o.Direct, headerTimeout: o.HeaderTimeout,
		idleTimeout: cmp.Or(o.IdleTimeout, o.HeaderTimeout),
		onRecord:    o.OnRecord, log: o.Log, ready: o.Ready,
		inner: newPipeListener(), innerDone: make(chan struct{}),
	}
	if err := p.Change(o); err != nil {
		return nil, err
	}
	if p.onRecord == nil {
		p.onRecord = func(*Record) {}
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.headerBytes == 0 {
		p.headerBytes = http.DefaultMaxHeaderBytes
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	p.ids.prefix = hex.EncodeToString(random[:4])
	p.pseudonym = "heed-" + hex.EncodeToString(random[4:])
	p.tlsConfig, p.listenTLS = p.newTLSConfig(), listenConfig(o.TLS)
	p.tlsLocal = localTLS(p.tlsConfig)
	p.goproxy = p.newGoproxy()
	base, cancel := context.WithCancelCause(context.Background())
	p.cancel = cancel
	p.outer = p.newServer(base, p)
	p.outer.Protocols.SetHTTP1(true) // a CONNECT cannot be hijacked out of HTTP/2
	p.innerServer = p.newServer(base, http.HandlerFunc(p.serveIntercepted))
	p.innerServer.Protocols.SetHTTP1(true)
	p.innerServer.Protocols.SetHTTP2(p.http2)
	p.innerServer.TLSConfig = p.tlsConfig
	return p, nil
}

func (p *Proxy) newServer(base context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      h,
		BaseContext:                  func(net.Listener) context.Context { return base },
		ReadHeaderTimeout:            p.headerTimeout,
		IdleTimeout:                  p.idleTimeout,
		MaxHeaderBytes:               p.headerBytes,
		ConnContext:                  connContext,
		ConnState:                    p.connState,
		ErrorLog:                     slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		Protocols:                    new(http.Protocols),
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: p.idleTimeout},
		DisableGeneralOptionsHandler: true,
	}
}

// maxStreams bounds the requests under way on one connection of HTTP/2, and so what
// a client gets by resetting them: net/http starts no more handlers than that, and
// ends a connection that has four times as many waiting. Of control frames it keeps
// 10,000 for a client that does not read.
const maxStreams = 100

// newGoproxy wires the interceptor. goproxy's own interception, its CA, its
// transport and its view of the environment are not used.
func (p *Proxy) newGoproxy() *goproxy.ProxyHttpServer {
	g := goproxy.NewProxyHttpServer()
	g.Logger = goproxyLog{p.log}
	g.KeepAcceptEncoding = true
	g.Tr = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.settings.Load().dial(ctx, network, address)
	}}
	g.ConnectDial = nil
	g.NonproxyHandler = http.HandlerFunc(p.direct)
	g.OnRequest().DoFunc(p.onRequest)
	g.OnRequest().HandleConnectFunc(p.onConnect)
	return g
}

// goproxyLog takes goproxy's remarks as diagnostics.
type goproxyLog struct{ log *slog.Logger }

func (l goproxyLog) Printf(format string, v ...any) {
	l.log.Debug("goproxy", "message", fmt.Sprintf(format, v...))
}

// ServeHTTP serves one request, plain or out of a decrypted tunnel.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, r := p.begin(w, r)
	defer x.end()
	if !x.admit(r) {
		return
	}
	if r.Method == http.MethodConnect {
		x.connect(r)
		return
	}
	p.goproxy.ServeHTTP(&x.w, r)
}

// onRequest is the interceptor, goproxy's request handler: the canonical target,
// the decision, and then either nothing (the request is carried) or a refusal.
func (p *Proxy) onRequest(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	x := exchangeOf(r)
	target, reason, err := targetOf(r, x.link.client)
	if err != nil {
		x.rec.URL = x.link.client.absolute(r.RequestURI)
		return r, x.bad(r, reason, err)
	}
	x.target, x.rec.URL = target, target.String()
	if target.Origin.Host == DirectName && p.page != nil {
		return r, x.directResponse(r)
	}
	if res := x.decide(r); res != nil {
		return r, res
	}
	if res := x.countDown(r); res != nil {
		return r, res
	}
	x.outgoing(r)
	ctx.RoundTripper = goproxy.RoundTripperFunc(x.roundTrip)
	return r, nil
}

// record hands out a finished record. A receiver that panics must not keep an
// exchange from ending.
func (p *Proxy) record(r *Record) {
	defer func() {
		if fault := recover(); fault != nil {
			p.log.Error("panic in OnRecord", "id", r.ID, "panic", fault, "stack", string(debug.Stack()))
		}
	}()
	p.onRecord(r)
}
