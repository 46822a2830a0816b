package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"heed/internal/audit"
)

func demoCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Two small sites on loopback, a private heed, and what it allows and refuses",
		Long: `Start two small sites on loopback, one of them over HTTPS, and a private heed
that may dial nothing else; send a handful of requests through it; show what it
allowed and refused, by which line, and the audit log. No network is needed, and
nothing is left behind.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return demo(ctx, e)
		},
	}
}

const demoAgent = "demobot"

// demoSites are what the demo crawls. The names resolve nowhere (RFC 2606); the
// demo's own dialler knows where the sites are.
var demoSites = []*demoSite{
	{scheme: "http", host: "news.example", robots: `# The news
User-agent: *
Disallow: /drafts/
Allow: /drafts/published/
`},
	{scheme: "https", host: "shop.example", robots: `User-agent: otherbot
Disallow: /

User-agent: demobot
Disallow: /cart
Disallow: /*.pdf$
`},
}

var demoPaths = []struct {
	method, url string
}{
	{"GET", "http://news.example/"},
	{"GET", "http://news.example/drafts/tomorrow"},
	{"GET", "http://news.example/drafts/published/today"},
	{"HEAD", "http://news.example/%64rafts/tomorrow"},
	{"GET", "https://shop.example/shoes?size=42"},
	{"POST", "https://shop.example/cart"},
	{"GET", "https://shop.example/files/prices.pdf"},
	{"GET", "https://shop.example/robots.txt"},
}

type demoSite struct {
	scheme, host, robots string
}

func demo(ctx context.Context, e env) (err error) {
	w := &demoWorld{sites: map[string]string{}, roots: x509.NewCertPool()}
	defer func() { err = errors.Join(err, w.end()) }()
	if w.dir, err = os.MkdirTemp("", "heed-demo-"); err != nil {
		return usage("TMPDIR names the folder for temporary files", "demo: %w", err)
	}
	if err := w.startSites(); err != nil {
		return fmt.Errorf("demo sites: %w", err)
	}
	if err := w.startHeed(); err != nil {
		return fmt.Errorf("demo proxy: %w", err)
	}
	fmt.Fprintf(e.stdout, "Two sites on loopback, and a heed between them and a crawler named %q:\n", demoAgent)
	for _, s := range demoSites {
		fmt.Fprintf(e.stdout, "\n%s://%s/robots.txt\n", s.scheme, s.host)
		for i, line := range strings.Split(strings.TrimSuffix(s.robots, "\n"), "\n") {
			fmt.Fprintln(e.stdout, strings.TrimRight(fmt.Sprintf("  %2d  %s", i+1, line), " "))
		}
	}
	for _, p := range demoPaths {
		if err := w.ask(ctx, p.method, p.url); err != nil {
			return err
		}
	}
	if err := w.drain(); err != nil {
		return err
	}
	return w.show(e.stdout)
}

// show prints the table and the audit log.
func (w *demoWorld) show(out io.Writer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUEST\tVERDICT\tSTATUS\tBECAUSE")
	for _, r := range w.records {
		fmt.Fprintf(table, "%s %s\t%s\t%d\t%s\n", r.Method, r.URL, r.Decision.Verdict, r.Status, because(r.Decision, r.Access))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe audit log, one line a request:")
	var log bytes.Buffer
	writer, err := audit.Open(audit.Options{Path: "-", Stdout: &log})
	if err != nil {
		return err
	}
	for i := range w.records {
		writer.Record(&w.records[i])
	}
	if err := writer.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\nNow your own crawler: 'heed serve' and https_proxy=http://127.0.0.1:8080\n", log.Bytes())
	return err
}
