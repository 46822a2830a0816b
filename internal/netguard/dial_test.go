package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"heed/internal/netguard"
)

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("listen on %s: %v", address, err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestDialContext(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	free := listen(t, "127.0.0.1:0")
	_, nobody, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	serveDNS(t, map[uint16][]byte{
		1:  netip.MustParseAddr("127.0.0.1").AsSlice(),
		28: netip.IPv6Loopback().AsSlice(),
	})

	cases := []struct {
		name    string
		allow   []netip.Prefix
		address string
		ok      bool
		denied  bool
	}{
		{"loopback is refused", nil, l.Addr().String(), false, true},
		{"loopback is dialled when allowed", prefixes("127.0.0.0/8"), l.Addr().String(), true, false},
		{"a name is judged by its addresses", nil, "site.example:" + port, false, true},
		{"a refused address does not spoil an allowed one", prefixes("127.0.0.0/8"), "site.example:" + port, true, false},
		{"an allowed address that does not answer is no refusal", prefixes("127.0.0.0/8"), "site.example:" + nobody, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn, err := netguard.New(c.allow, nil).DialContext(5*time.Second)(t.Context(), "tcp", c.address)
			if conn != nil {
				conn.Close()
			}
			var denied *netguard.DeniedError
			if (err == nil) != c.ok || errors.As(err, &denied) != c.denied {
				t.Errorf("dial %s with allow %v: error %v, want success %v, denied %v", c.address, c.allow, err, c.ok, c.denied)
			}
		})
	}
}

func TestOwnListenerIsNotDialled(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		t.Run(address, func(t *testing.T) {
			l := listen(t, address)
			g := netguard.New(prefixes("0.0.0.0/0", "::/0"), nil)
			_, port, _ := net.SplitHostPort(l.Addr().String())
			dial := g.DialContext(5 * time.Second)

			conn, err := dial(t.Context(), "tcp", "127.0.0.1:"+port)
			if err != nil {
				t.Fatalf("before RefuseListener: %v", err)
			}
			conn.Close()

			g.RefuseListener(l.Addr())
			conn, err = dial(t.Context(), "tcp", "127.0.0.1:"+port)
			if err == nil {
				conn.Close()
			}
			var denied *netguard.DeniedError
			if !errors.As(err, &denied) || !denied.Own {
				t.Errorf("after RefuseListener(%s): error %v, want a refusal as own listener", l.Addr(), err)
			}
		})
	}
}

func TestOnlySocketAddressesPassControl(t *testing.T) {
	g := netguard.New(prefixes("0.0.0.0/0", "::/0"), nil)
	for _, address := range []string{"", "/run/docker.sock", "site.example:80", "127.0.0.1"} {
		var denied *netguard.DeniedError
		if err := g.Control(context.Background(), "unix", address, nil); !errors.As(err, &denied) {
			t.Errorf("Control(%q) = %v, want a *DeniedError", address, err)
		}
	}
}

// serveDNS answers each question of the process for a record type with the one
// record given for it, until the test ends.
func serveDNS(t *testing.T, records map[uint16][]byte) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			server.WriteTo(answer(buf[:n], records), from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		server.Close()
		<-done
	})
}

// answer makes a DNS response (RFC 1035 4) to a query with one question.
func answer(query []byte, records map[uint16][]byte) []byte {
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	kind := uint16(query[end+1])<<8 | uint16(query[end+2])
	out := append([]byte(nil), query[:end+5]...)
	data, found := records[kind]
	out[2], out[3] = 0x81, 0x80 // a response, recursion available
	copy(out[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if !found {
		return out
	}
	out[7] = 1
	out = append(out, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 60, 0, byte(len(data)))
	return append(out, data...)
}

// A name that answers differently the second time gains nothing.
func TestRebinding(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	serveDNS(t, map[uint16][]byte{1: {127, 0, 0, 1}})
	dial := netguard.New(prefixes("127.0.0.1/32"), nil).DialContext(5 * time.Second)
	conn, err := dial(t.Context(), "tcp", "site.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	serveDNS(t, map[uint16][]byte{1: {127, 0, 0, 2}})
	conn, err = dial(t.Context(), "tcp", "site.example:"+port)
	if conn != nil {
		conn.Close()
	}
	var denied *netguard.DeniedError
	if !errors.As(err, &denied) {
		t.Errorf("the second time: %v", err)
	}
}
