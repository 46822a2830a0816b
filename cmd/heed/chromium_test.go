package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"heed/internal/ca"
	"heed/internal/testtool"
)

const browserPage = `<!doctype html><title>page</title>
<link rel="stylesheet" href="/public/style.css">
<script src="/private/script.js"></script>
<h1>hello</h1><img src="/private/picture.png"><iframe src="/private/frame"></iframe>`

// A browser with the arguments of docs/clients.md loads over HTTP/2 what is
// allowed, and shows heed's own page for what is not.
func TestChromium(t *testing.T) {
	chromium := testtool.Path(t, "chromium")
	origin := newSite(t, true, true, "", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
		case "/public/style.css":
			w.Header().Set("Content-Type", "text/css")
			_, _ = io.WriteString(w, "h1 { color: rgb(1, 2, 3) }")
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, browserPage)
		}
	})
	p := startProcess(t, []*site{origin})
	authority, err := ca.Load(filepath.Dir(p.ca))
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t, chromium, p.addr, authority.SPKIHash())

	visit(t, ctx, origin.URL+"/public/page")
	protocol := evaluate(t, ctx, `performance.getEntriesByType("navigation")[0].nextHopProtocol`)
	colour := evaluate(t, ctx, `getComputedStyle(document.querySelector("h1")).color`)
	frame := evaluate(t, ctx, `document.querySelector("iframe").contentDocument.body.innerText`)
	visit(t, ctx, origin.URL+"/private/page")
	direct := evaluate(t, ctx, `document.body.innerText`)
	screenshot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if protocol != "h2" || colour != "rgb(1, 2, 3)" {
		t.Errorf("protocol %s, colour %s; want h2 and the style sheet's", protocol, colour)
	}
	for what, text := range map[string]string{"frame": frame, "page": direct} {
		if !strings.Contains(text, "Disallowed by robots.txt") || !strings.Contains(text, "Disallow: /private/") || !strings.Contains(text, "heed") {
			t.Errorf("the disallowed %s shows %q", what, text)
		}
	}
	if path := os.Getenv("SCREENSHOT"); path != "" {
		if err := os.WriteFile(path, screenshot, 0o600); err != nil {
			t.Error(err)
		}
	}
	chromedp.Cancel(ctx) // it is over either way
	refused := map[string]bool{}
	for _, r := range p.records() {
		if path := strings.TrimPrefix(r["url"].(string), origin.URL); r["verdict"] == "disallow" {
			refused[path] = true
		}
	}
	for _, path := range []string{"/private/script.js", "/private/picture.png", "/private/frame", "/private/page"} {
		if !refused[path] || origin.count(path) != 0 {
			t.Errorf("%s: refused %v, asked of the origin %d times", path, refused[path], origin.count(path))
		}
	}
}

func visit(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

func evaluate(t *testing.T, ctx context.Context, expression string) string {
	t.Helper()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// browser starts a headless Chromium behind the proxy.
func browser(t *testing.T, path, proxy, spki string) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true),
		chromedp.WindowSize(900, 640),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("proxy-server", "http://"+proxy),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("ignore-certificate-errors-spki-list", spki),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("no-first-run", true),
	)
	ctx, stop := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(stop)
	ctx, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stopAllocator)
	ctx, stopTab := chromedp.NewContext(ctx)
	t.Cleanup(stopTab)
	return ctx
}
