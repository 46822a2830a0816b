package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// turning returns a name that leads to the public address the first time.
func (c *classes) turning() string {
	c.names++
	return fmt.Sprintf("turn%d.example", c.names)
}

// get asks for a URL through a heed and reads the answer.
func (c *classes) get(heed, url string, upgrade bool) (*http.Response, error) {
	tr := &http.Transport{Proxy: proxyTo(heed), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if upgrade {
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	}
	res, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return nil, err
	}
	return res, whole(res)
}

// connect asks in a tunnel. The answer is the one to the CONNECT, if that is
// refused.
func (c *classes) connect(heed, authority string) (*http.Response, error) {
	conn := dialDeadline(c.t, heed)
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil || res.StatusCode != http.StatusOK {
		if err == nil {
			err = whole(res)
		}
		return res, err
	}
	name, _, _ := net.SplitHostPort(authority)
	inside := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: name})
	fmt.Fprintf(inside, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", authority)
	if res, err = http.ReadResponse(bufio.NewReader(inside), nil); err != nil {
		return nil, err
	}
	return res, whole(res)
}

// whole reads a body, so that the connection can be closed. A WebSocket's is left.
func whole(res *http.Response) error {
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	res.Body = io.NopCloser(strings.NewReader(string(body)))
	return err
}

func bodyOf(res *http.Response) string {
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

// refused wants a refusal for the address, which names the setting.
func (c *classes) refused(what, path string, res *http.Response) {
	c.t.Helper()
	status, body := res.Header.Get("Proxy-Status"), bodyOf(res)
	denied := strings.HasPrefix(status, "heed; error=destination_ip_prohibited") && strings.Contains(body, `"reason":"egress-denied"`)
	if strings.HasPrefix(path, "redirect") { // it is not the target that is denied
		denied = strings.Contains(body, `"reason":"unreachable"`)
	}
	if res.StatusCode != http.StatusForbidden || !denied || !strings.Contains(status, "egress.allow") {
		c.t.Errorf("%s: %d %q %s", what, res.StatusCode, status, body)
	}
}

// reached wants the site's own answer, from that address.
func (c *classes) reached(what, path string, addr netip.Addr, res *http.Response) {
	c.t.Helper()
	if strings.HasPrefix(path, "WebSocket") {
		if res.StatusCode != http.StatusSwitchingProtocols {
			c.t.Errorf("%s: %d %s", what, res.StatusCode, bodyOf(res))
		}
		return
	}
	want := addr.Unmap().String()
	if strings.HasPrefix(path, "redirect") {
		want = public // robots.txt was elsewhere, not the page
	}
	got := res.Header.Get("Reached")
	if res.StatusCode != http.StatusOK || got != want && !(addr.IsUnspecified() && netip.MustParseAddr(got).IsLoopback()) {
		c.t.Errorf("%s: %d, reached %q, want %s: %s %s", what, res.StatusCode, got, want, res.Header.Get("Proxy-Status"), bodyOf(res))
	}
}

// dialled wants a failure to connect, and none to do with what may be dialled.
func (c *classes) dialled(what string, res *http.Response) {
	c.t.Helper()
	said := res.Header.Get("Proxy-Status") + " " + bodyOf(res)
	if res.StatusCode < 400 || strings.Contains(said, "egress") || strings.Contains(said, "destination_ip_prohibited") || !strings.Contains(said, "heed; error=") {
		c.t.Errorf("%s: %d %s", what, res.StatusCode, said)
	}
}
