package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// window is the credit given for content: as much as there may be (RFC 9113 6.9.1).
const window = 1<<31 - 1

// client2 is a connection with requests on many streams. One goroutine does it
// all: what is read decides what is written next.
type client2 struct {
	k       *worker
	r       *bufio.Reader
	w       *bufio.Writer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	fields  []hpack.HeaderField
	open    map[uint32]*stream
	next    uint32
	credit  int64 // octets that came since the connection's window was last opened
}

type stream struct {
	start  time.Time
	octets int64
}

func newClient2(k *worker, conn io.Writer, r *bufio.Reader, host string) *client2 {
	c := &client2{k: k, r: r, w: bufio.NewWriter(conn), open: map[uint32]*stream{}, next: 1}
	c.framer = http2.NewFramer(c.w, r)
	c.framer.SetReuseFrames()
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", host}, {":path", k.s.w.Path}, {"user-agent", "load/1.0"}, {"accept", "*/*"},
	} {
		c.fields = append(c.fields, hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return c
}

// run2 keeps a connection with streams going.
func (k *worker) run2() {
	for k.s.phase.Load() != over {
		conn, r, err := k.s.dial(k.s.t.Secure)
		if err == nil {
			err = newClient2(k, conn, r, k.s.t.Secure).run()
			k.s.close(conn)
		}
		if !k.failed(err) {
			return
		}
	}
}

// run returns how the connection ended.
func (c *client2) run() error {
	_, _ = c.w.WriteString(http2.ClientPreface)
	err := c.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	if err != nil {
		return err
	}
	if err := c.framer.WriteWindowUpdate(0, window-65535); err != nil {
		return err
	}
	for range c.k.s.w.Streams {
		if err := c.send(); err != nil {
			return err
		}
	}
	for {
		if c.r.Buffered() == 0 { // about to wait: what was said has to go out
			if err := c.w.Flush(); err != nil {
				return err
			}
		}
		f, err := c.framer.ReadFrame()
		if err != nil {
			return err
		}
		if err := c.handle(f); err != nil {
			return err
		}
	}
}

// send opens a stream with the request.
func (c *client2) send() error {
	c.block.Reset()
	for _, f := range c.fields {
		if err := c.encoder.WriteField(f); err != nil {
			return err
		}
	}
	c.open[c.next] = &stream{start: time.Now()}
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.next, BlockFragment: c.block.Bytes(), EndStream: true, EndHeaders: true})
	c.next += 2
	return err
}

func (c *client2) handle(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		if status := f.PseudoValue("status"); status != "200" && status != "" { // trailers have none
			return fmt.Errorf("status %s", status)
		}
		return c.received(f.StreamID, 0, f.StreamEnded())
	case *http2.DataFrame:
		if c.credit += int64(f.Length); c.credit > window/2 {
			if err := c.framer.WriteWindowUpdate(0, uint32(c.credit)); err != nil {
				return err
			}
			c.credit = 0
		}
		return c.received(f.StreamID, len(f.Data()), f.StreamEnded())
	case *http2.SettingsFrame:
		if !f.IsAck() {
			if size, ok := f.Value(http2.SettingHeaderTableSize); ok {
				c.encoder.SetMaxDynamicTableSizeLimit(size)
			}
			return c.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.framer.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame:
		return fmt.Errorf("stream reset: %s", f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Errorf("GOAWAY: %s %s: %w", f.ErrCode, f.DebugData(), net.ErrClosed)
	}
	return nil
}

// received notes content; at the end of a stream the next is opened.
func (c *client2) received(id uint32, n int, ended bool) error {
	s := c.open[id]
	if s == nil {
		return fmt.Errorf("frame on stream %d, which is not open", id)
	}
	s.octets += int64(n)
	c.k.s.progress(int64(n))
	if !ended {
		return nil
	}
	delete(c.open, id)
	if s.octets != c.k.s.w.Size {
		return fmt.Errorf("%d octets, not %d", s.octets, c.k.s.w.Size)
	}
	c.k.done(s.start)
	return c.send()
}
