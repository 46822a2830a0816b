// Command goproxies is the proxies that Go programmers write in a moment, for the
// benchmark to compare with: goproxies KIND ADDRESS.
package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"sync"

	"github.com/elazarl/goproxy"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: goproxies bare|mitm|reverse ADDRESS")
	}
	handler, err := proxy(os.Args[1])
	if err == nil {
		err = http.ListenAndServe(os.Args[2], handler)
	}
	log.Fatal(err)
}

func proxy(kind string) (http.Handler, error) {
	switch kind {
	case "bare": // as goproxy's README shows it, but for Verbose, which writes about every request
		return goproxy.NewProxyHttpServer(), nil
	case "mitm": // its own interception, with its defaults
		p := goproxy.NewProxyHttpServer()
		p.OnRequest().HandleConnect(goproxy.AlwaysMitm)
		return p, nil
	case "reverse":
		return reverse(), nil
	}
	return nil, fmt.Errorf("kind %q: %w", kind, errors.ErrUnsupported)
}

// reverse is net/http/httputil's proxy, made a forward proxy by leaving the URL
// as it came: the least that a proxy on net/http can cost.
func reverse() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:    func(*httputil.ProxyRequest) {},
		Transport:  &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true},
		BufferPool: &buffers{sync.Pool{New: func() any { return new([32 << 10]byte) }}},
	}
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

func (b *buffers) Put(buf []byte) { b.pool.Put((*[32 << 10]byte)(buf)) }
