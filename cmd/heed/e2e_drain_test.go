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

// open brings each kind under way, and returns what the uploads go on with.
func (d *drainer) open() (feeds []*io.PipeWriter) {
	d.t.Helper()
	for range eachKind {
		d.stream(false, d.plain.URL+"/stream", nil)
		d.stream(false, d.secure.URL+"/stream", nil)
		d.stream(true, d.secure.URL+"/stream", nil)
		for _, http2 := range []bool{false, true} {
			body, feed := io.Pipe()
			feeds = append(feeds, feed)
			d.stream(http2, d.secure.URL+"/upload", body)
			if _, err := io.WriteString(feed, "half"); err != nil {
				d.t.Fatal(err)
			}
		}
		d.socket()
		d.tunnel()
	}
	d.begun.Wait()
	eventually(d.t, "all are under way", func() bool { return d.p.metric("heed_requests_open") == kinds*eachKind })
	return feeds
}

// There are seven kinds, of which five end when they are let.
const kinds, ending, eachKind = 7, 5, 5

// terminate sends SIGTERM and sees heed turn clients away.
func (d *drainer) terminate() {
	d.t.Helper()
	if err := d.p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	eventually(d.t, "readiness ends", func() bool { return !d.p.ready() })
	eventually(d.t, "no connection is accepted", func() bool {
		c, err := net.Dial("tcp", d.p.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// awaitExit waits for the end of the process.
func (p *process) awaitExit() {
	p.t.Helper()
	select {
	case err := <-p.exited:
		p.exited <- err
		if err != nil {
			p.t.Errorf("exit: %v\n%s", err, p.log())
		}
	case <-time.After(40 * time.Second):
		p.t.Fatalf("heed does not end: %s", p.log())
	}
}

// SIGTERM, with some of each kind under way: those that end within the grace are
// finished, and all others are recorded as cut.
func TestDrainFinishesWhatEnds(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	d := newDrainer(t, let, "3s")
	feeds := d.open()
	d.terminate()
	close(let)
	for _, f := range feeds {
		_, _ = io.WriteString(f, "the rest")
		_ = f.Close()
	}
	d.p.awaitExit()
	d.check(ending * eachKind)
}

// A second signal does not wait for anything, and still loses no record.
func TestSecondSignalCutsTheDrain(t *testing.T) {
	let := make(chan struct{})
	defer close(let)
	d := newDrainer(t, let, "1h")
	feeds := d.open()
	d.terminate()
	if err := d.p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.p.awaitExit()
	for _, f := range feeds {
		_ = f.Close()
	}
	d.check(0)
}

func newDrainer(t *testing.T, let <-chan struct{}, grace string) *drainer {
	t.Helper()
	d := &drainer{t: t, plain: lasting(t, false, let), secure: lasting(t, true, let)}
	d.p = startProcess(t, []*site{d.plain, d.secure}, "HEED_LIMITS_SHUTDOWN_GRACE="+grace, "HEED_HTTPS_TUNNEL_HOSTS=localhost",
		"HEED_EGRESS_INSECURE_HOSTS=localhost")
	return d
}

// check compares what clients saw, and what was recorded, with what should have been
// finished.
func (d *drainer) check(whole int) {
	d.t.Helper()
	d.ended.Wait()
	cut := kinds*eachKind - whole
	if d.whole != whole || d.cut != cut {
		d.t.Errorf("%d are whole and %d cut, want %d and %d", d.whole, d.cut, whole, cut)
	}
	d.p.checkDrained(whole, cut)
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
