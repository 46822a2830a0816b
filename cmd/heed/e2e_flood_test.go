package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// flooder is a client of HTTP/2 inside interception that speaks in frames.
type flooder struct {
	*http2.Framer
	conn   net.Conn
	stream uint32
	block  []byte // a header section
}

// flooder opens a tunnel and begins HTTP/2 in it.
func (b *besieged) flooder() (*flooder, error) {
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	authority := strings.TrimPrefix(b.secure.URL, "https://")
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	if line, err := bufio.NewReaderSize(io.LimitReader(c, int64(len("HTTP/1.1 200 Connection established\r\n\r\n"))), 64).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		_ = c.Close()
		return nil, fmt.Errorf("CONNECT: %q %v", line, err)
	}
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := s.Handshake(); err != nil {
		_ = c.Close()
		return nil, err
	}
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", authority}, {":path", "/page"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	f := &flooder{Framer: http2.NewFramer(s, s), conn: s, stream: 1, block: block.Bytes()}
	_, _ = io.WriteString(s, http2.ClientPreface)
	return f, f.WriteSettings()
}

// next is the identifier of a new stream.
func (f *flooder) next() uint32 {
	f.stream += 2
	return f.stream - 2
}

// floods are sent again and again, until heed ends the connection.
var floods = []struct {
	name string
	read bool // what heed says, that is
	send func(*flooder) error
}{
	{"rapid reset", true, func(f *flooder) error {
		id := f.next()
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block, EndStream: true, EndHeaders: true}); err != nil {
			return err
		}
		return f.WriteRSTStream(id, http2.ErrCodeCancel)
	}},
	{"settings", false, func(f *flooder) error { return f.WriteSettings() }},
	{"ping", false, func(f *flooder) error { return f.WritePing(false, [8]byte{}) }},
	{"continuation", true, func(f *flooder) error {
		if f.stream == 1 {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.next(), BlockFragment: f.block})
		}
		// A field that is not indexed, of 100 octets.
		field := append([]byte{0, 1, 'x', 100}, bytes.Repeat([]byte{'y'}, 100)...)
		return f.WriteContinuation(1, false, bytes.Repeat(field, 100))
	}},
	{"empty data", true, func(f *flooder) error {
		if f.stream == 1 {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.next(), BlockFragment: f.block, EndHeaders: true})
		}
		return f.WriteData(1, false, nil)
	}},
}

// A flooder sends so many frames at a time and then draws breath: it is heed that is
// tried, not what a machine with two processors can send.
const (
	burst  = 50
	breath = 10 * time.Millisecond
)

// flood opens connections and sends on them until stop.
func (b *besieged) flood(n int, read bool, send func(*flooder) error, stop <-chan struct{}) string {
	var frames, ended atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				f, err := b.flooder()
				if err != nil {
					b.t.Errorf("a new connection: %v", err)
					return
				}
				reading := make(chan struct{})
				go func() {
					defer close(reading)
					if read {
						_, _ = io.Copy(io.Discard, f.conn)
					}
				}()
				if f.sendUntil(send, &frames, stop) != nil {
					ended.Add(1)
				}
				_ = f.conn.Close()
				<-reading
			}
		})
	}
	wg.Wait()
	return fmt.Sprintf("%d frames, %d connections ended by heed", frames.Load(), ended.Load())
}

func (f *flooder) sendUntil(send func(*flooder) error, frames *atomic.Int64, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(breath):
		}
		for range burst {
			if err := send(f); err != nil {
				return err
			}
			frames.Add(1)
		}
	}
}

// Floods of HTTP/2 frames (resets, settings, pings, header sections without end,
// empty frames) cost others little, and leave nothing behind.
func TestFloodsOfFrames(t *testing.T) {
	b := besiege(t)
	const connections = 2 // 10,000 frames a second
	for _, f := range floods {
		b.endure(f.name, func(stop <-chan struct{}) string { return b.flood(connections, f.read, f.send, stop) })
	}
}
