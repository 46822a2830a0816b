package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lasting is a site of what takes long: streams, uploads and WebSockets that go on
// until they are let go.
func lasting(t *testing.T, secure bool, let <-chan struct{}) *site {
	return newSite(t, secure, true, "", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
		case r.Header.Get("Upgrade") != "":
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
			_, _ = io.Copy(conn, rw)
		default:
			n := int64(0)
			if r.Method == http.MethodPost {
				n, _ = io.Copy(io.Discard, r.Body)
			}
			fmt.Fprintf(w, "begun %d ", n)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-let:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "and finished")
		}
	})
}

// drainer holds open what a drain has to deal with. Each client tells how it ended.
type drainer struct {
	t             *testing.T
	p             *process
	plain, secure *site
	begun         sync.WaitGroup
	ended         sync.WaitGroup
	mu            sync.Mutex
	whole, cut    int
}

func (d *drainer) end(whole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if whole {
		d.whole++
	} else {
		d.cut++
	}
}

// stream asks for what is long, with an upload that has come to half or without.
func (d *drainer) stream(http2 bool, url string, upload io.Reader) {
	c := d.p.client(http2)
	d.begun.Add(1)
	d.ended.Go(func() {
		method := http.MethodGet
		if upload != nil {
			method = http.MethodPost
		}
		req, err := http.NewRequest(method, url, upload)
		if err != nil {
			d.t.Error(err)
		}
		if upload != nil {
			d.begun.Done()
		}
		res, err := c.Do(req)
		if upload == nil {
			d.begun.Done()
		}
		if err != nil {
			d.end(false)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		d.end(err == nil && strings.HasSuffix(string(body), "and finished"))
	})
}

// socket opens a WebSocket and waits for its end.
func (d *drainer) socket() {
	d.t.Helper()
	c, err := net.Dial("tcp", d.p.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	fmt.Fprintf(c, "GET %s/chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", d.plain.URL)
	d.hold(c, "101 ")
}

// tunnel opens one to a pinned host.
func (d *drainer) tunnel() {
	d.t.Helper()
	c, err := net.Dial("tcp", d.p.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	authority := strings.Replace(strings.TrimPrefix(d.secure.URL, "https://"), "127.0.0.1", "localhost", 1)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", authority)
	br := bufio.NewReader(c)
	if line, err := br.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		d.t.Fatalf("tunnel: %q %v", line, err)
	}
	_, _ = br.ReadString('\n')
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := s.Handshake(); err != nil {
		d.t.Fatal(err)
	}
	d.ended.Go(func() {
		defer c.Close()
		_, err := s.Read(make([]byte, 1))
		d.end(err == nil)
	})
}

func (d *drainer) hold(c net.Conn, status string) {
	d.t.Helper()
	br := bufio.NewReader(c)
	if line, err := br.ReadString('\n'); err != nil || !strings.Contains(line, status) {
		d.t.Fatalf("%q %v", line, err)
	}
	d.ended.Go(func() {
		defer c.Close()
		_, _ = io.Copy(io.Discard, br)
		d.end(false) // it has no end of its own
	})
}

// SIGTERM, with one of each kind under way: those that end within the grace are
// finished, and all others are recorded as cut.
func TestDrainFinishesOrRecords(t *testing.T) {
	const each = 5
	for _, tc := range []struct {
		name string
		let  bool // streams may end during the drain
		end  func(*process)
	}{
		{"what can end does", true, func(*process) {}},
		{"a second signal cuts the rest", false, func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			let := make(chan struct{})
			plain, secure := lasting(t, false, let), lasting(t, true, let)
			grace := "3s"
			if !tc.let {
				grace = "1h"
			}
			p := startProcess(t, []*site{plain, secure}, "HEED_LIMITS_SHUTDOWN_GRACE="+grace, "HEED_HTTPS_TUNNEL_HOSTS=localhost",
				"HEED_EGRESS_INSECURE_HOSTS=localhost")
			d := &drainer{t: t, p: p, plain: plain, secure: secure}
			var feeds []*io.PipeWriter
			for range each {
				d.stream(false, plain.URL+"/stream", nil)
				d.stream(false, secure.URL+"/stream", nil)
				d.stream(true, secure.URL+"/stream", nil)
				for _, http2 := range []bool{false, true} {
					body, feed := io.Pipe()
					feeds = append(feeds, feed)
					d.stream(http2, secure.URL+"/upload", body)
					if _, err := io.WriteString(feed, "half"); err != nil {
						t.Fatal(err)
					}
				}
				d.socket()
				d.tunnel()
			}
			d.begun.Wait()
			eventually(t, "all are under way", func() bool { return p.metric("heed_requests_open") == 7*each })
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			eventually(t, "readiness ends", func() bool { return !p.ready() })
			eventually(t, "no connection is accepted", func() bool {
				c, err := net.Dial("tcp", p.addr)
				if err == nil {
					_ = c.Close()
				}
				return err != nil
			})
			if tc.let {
				close(let)
			}
			for _, f := range feeds {
				if tc.let {
					_, _ = io.WriteString(f, "the rest")
					_ = f.Close()
				}
			}
			tc.end(p)
			select {
			case err := <-p.exited:
				p.exited <- err
				if err != nil {
					t.Errorf("exit: %v\n%s", err, p.log())
				}
			case <-time.After(40 * time.Second):
				t.Fatalf("heed does not end: %s", p.log())
			}
			for _, f := range feeds {
				_ = f.Close()
			}
			d.ended.Wait()
			whole := 0
			if tc.let {
				whole = 5 * each
			} else {
				close(let)
			}
			if d.whole != whole || d.cut != 7*each-whole {
				t.Errorf("%d are whole and %d cut, want %d and %d", d.whole, d.cut, whole, 7*each-whole)
			}
			p.checkDrained(whole, 7*each-whole)
		})
	}
}

// ready asks the admin listener.
func (p *process) ready() bool {
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(adminRequest(p, "/readyz"))
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// checkDrained counts the records of what was finished and of what was cut.
func (p *process) checkDrained(whole, cut int) {
	p.t.Helper()
	got, was := 0, 0
	for _, r := range p.readRecords() {
		switch {
		case r["event"] == "open":
		case r["error"] == "heed was shut down":
			was++
		case r["error"] == nil:
			got++
		default:
			p.t.Errorf("record %v", r)
		}
	}
	if got != whole || was != cut {
		p.t.Errorf("%d records of what was finished and %d of what was cut, want %d and %d", got, was, whole, cut)
	}
}
