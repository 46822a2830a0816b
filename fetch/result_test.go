package fetch_test

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heed/fetch"
	"heed/policy"
)

const file = "User-agent: *\nDisallow: /private/\n"

func TestStatusDecidesTheAccessResult(t *testing.T) {
	cases := []struct {
		status int
		want   policy.Result
	}{
		{101, policy.Unreachable},
		{200, policy.Successful},
		{201, policy.Successful},
		{204, policy.Successful},
		{206, policy.Unreachable},
		{300, policy.Unreachable},
		{301, policy.Unreachable}, // no Location
		{304, policy.Unreachable},
		{399, policy.Unreachable},
		{400, policy.Unavailable},
		{401, policy.Unavailable},
		{403, policy.Unavailable},
		{404, policy.Unavailable},
		{410, policy.Unavailable},
		{429, policy.Unreachable},
		{451, policy.Unavailable},
		{499, policy.Unavailable},
		{500, policy.Unreachable},
		{503, policy.Unreachable},
		{599, policy.Unreachable},
		{600, policy.Unreachable},
		{999, policy.Unreachable},
	}
	for _, c := range cases {
		t.Run(strconv.Itoa(c.status), func(t *testing.T) {
			o := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) })
			start := time.Now()
			a := access(t, newStore(t, nil), o)
			if a.Result != c.want || a.Status != c.status {
				t.Errorf("status %d: got %s with status %d, want %s", c.status, a.Result, a.Status, c.want)
			}
			if a.URL != o.RobotsURL() || a.FinalURL != "" || a.Retrieved.Before(start) || a.EgressDenied {
				t.Errorf("status %d: got %+v", c.status, a)
			}
		})
	}
}

func TestSuccessfulBody(t *testing.T) {
	cases := []struct{ name, response, body string }{
		{"with Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab\ncd", "ab\ncd"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n0\r\n\r\n", "ab\n"},
		{"ended by the connection", "HTTP/1.0 200 OK\r\n\r\nab\n", "ab\n"},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
		{"empty in any encoding", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 0\r\n\r\n", ""},
		{"a page instead of a file", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", "<html>"},
		{"encoded as itself", "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 3\r\n\r\nab\n", "ab\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := access(t, newStore(t, nil), serveRaw(t, say(c.response)))
			if a.Result != policy.Successful || a.SHA256 != digest(c.body) {
				t.Errorf("%q: got %s, sha256 %s, cause %q; want successful, %s", c.response, a.Result, a.SHA256, a.Cause, digest(c.body))
			}
		})
	}
}

func TestBrokenAnswersAreUnreachable(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name string
		talk func(*net.TCPConn)
	}{
		{"closed without a word", say("")},
		{"not HTTP", say("SSH-2.0-OpenSSH_9.9\r\n")},
		{"header cut", say(head + "Content-Le")},
		{"Content-Length longer than the body", say(head + "Content-Length: 100\r\n\r\n" + file)},
		{"Content-Length without a body", say(head + "Content-Length: 100\r\n\r\n")},
		{"chunk cut", say(head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + file)},
		{"last chunk missing", say(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n")},
		{"unknown Content-Encoding", say(head + "Content-Encoding: compress\r\nContent-Length: 3\r\n\r\nab\n")},
		{"two Content-Encodings", say(head + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nab\n")},
		{"gzip that is none", say(head + "Content-Encoding: gzip\r\nContent-Length: 34\r\n\r\n" + file)},
		{"gzip cut", say(head + "Content-Encoding: gzip\r\n\r\n" + zipped(file)[:30])},
		{"gzip with a wrong checksum", say(head + "Content-Encoding: gzip\r\n\r\n" + corrupt(zipped(file)))},
		{"reset in the body", func(c *net.TCPConn) {
			io.WriteString(c, head+"\r\n"+file)
			time.Sleep(20 * time.Millisecond) // the reset would overtake the answer
			c.SetLinger(0)
		}},
		{"reset in the header", func(c *net.TCPConn) {
			io.WriteString(c, head)
			c.SetLinger(0)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := access(t, newStore(t, nil), serveRaw(t, c.talk))
			if a.Result != policy.Unreachable || a.SHA256 != "" || a.EgressDenied {
				t.Errorf("got %+v, want unreachable", a)
			}
		})
	}
}

func TestOriginsThatCannotBeReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	never := func(w http.ResponseWriter, _ *http.Request) { t.Error("the origin was asked") }
	cases := []struct {
		name   string
		origin policy.Origin
		cause  string
	}{
		{"connection refused", originOf(t, "http://"+l.Addr().String()), "connect"},
		{"name that does not resolve", named("nonexistent.invalid"), ""},
		{"certificate that does not verify", serveTLS(t, nil, never), "certificate"},
		{"no TLS where https is asked for", func() policy.Origin {
			o := serve(t, never)
			o.Scheme = "https"
			return o
		}(), ""},
		{"the zero origin", policy.Origin{}, "not a URL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := access(t, newStore(t, nil), c.origin)
			if a.Result != policy.Unreachable || a.Status != 0 || !a.Retrieved.IsZero() || a.EgressDenied || !strings.Contains(a.Cause, c.cause) {
				t.Errorf("got %+v, want unreachable with %q in its cause", a, c.cause)
			}
		})
	}
}

func TestOnlyTheOriginsOwnAddressIsEgressDenied(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://169.254.169.254/latest/meta-data/")
		w.WriteHeader(http.StatusFound)
	})
	t.Run("origin", func(t *testing.T) {
		s := newStore(t, func(f *fetch.Options) { f.Transport = transport(t, nil) })
		a := access(t, s, o)
		if a.Result != policy.Unreachable || !a.EgressDenied || !strings.Contains(a.Cause, "egress.allow") {
			t.Errorf("got %+v, want unreachable with EgressDenied", a)
		}
	})
	t.Run("redirect", func(t *testing.T) {
		a := access(t, newStore(t, nil), o)
		if a.Result != policy.Unreachable || a.EgressDenied || a.Status != http.StatusFound {
			t.Errorf("got %+v, want unreachable without EgressDenied", a)
		}
	})
}

func TestNothingButTheRequestIsSent(t *testing.T) {
	var got http.Header
	var line string
	hop := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, line = r.Header, r.Method+" "+r.RequestURI })
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		http.Redirect(w, r, hop.String()+"/there?q=1#part", http.StatusFound)
	})
	s := newStore(t, func(f *fetch.Options) { f.UserAgent = "examplebot heed/1" })
	if a := access(t, s, o); a.Result != policy.Successful {
		t.Fatalf("got %+v, want successful", a)
	}
	want := http.Header{
		"User-Agent":      {"examplebot heed/1"},
		"Accept":          {"text/plain, */*;q=0.8"},
		"Accept-Encoding": {"gzip, deflate, br, zstd"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if line != "GET /there?q=1" {
		t.Errorf("request line %q, want GET /there?q=1", line)
	}
}

func TestZeroOptionsReachNothing(t *testing.T) {
	o := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the origin was asked") })
	s := fetch.New(fetch.Options{})
	defer s.Close()
	if a := access(t, s, o); a.Result != policy.Unreachable {
		t.Errorf("got %+v, want unreachable", a)
	}
}
