package main

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// maxResident bounds what a heed may hold while any amount passes through it.
const maxResident = 64 << 20

// Bodies of any size pass through interception both ways and at once, whole, and
// are never held. TEST_FULL tries it with 2 GiB each.
func TestVolumeInConstantMemory(t *testing.T) {
	size := int64(256 << 20)
	switch {
	case raceEnabled || testing.Short():
		size = 16 << 20
	case os.Getenv("TEST_FULL") != "":
		size = 2 << 30
	}
	for _, http2 := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[http2], func(t *testing.T) {
			s := newSite(t, true, http2, "", func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/down":
					_, _ = io.CopyN(w, newNoise(), size)
				case "/up":
					sum := sha256.New()
					n, err := io.Copy(sum, r.Body)
					fmt.Fprintf(w, "%s %d %x %v", r.Proto, n, sum.Sum(nil), err)
				}
			})
			p := startProcess(t, []*site{s})
			c := p.client(http2)
			c.Timeout = 0 // it takes its time on a busy machine
			want := sha256.New()
			_, _ = io.CopyN(want, newNoise(), size)
			both := make(chan error, 2)
			go func() { both <- download(c, s.URL+"/down", size, want) }()
			go func() { both <- upload(c, s.URL+"/up", size, want) }()
			for range 2 {
				if err := <-both; err != nil {
					t.Error(err)
				}
			}
			resident := p.peakResident()
			t.Logf("%d MiB each way, at most %d MiB resident", size>>20, resident>>20)
			if resident > maxResident && !raceEnabled {
				t.Errorf("%d MiB were resident", resident>>20)
			}
		})
	}
}

func download(c *http.Client, url string, size int64, want hash.Hash) error {
	res, err := c.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, res.Body); n != size || err != nil || string(sum.Sum(nil)) != string(want.Sum(nil)) {
		return fmt.Errorf("downloaded %d octets, %x: %v", n, sum.Sum(nil), err)
	}
	return nil
}

func upload(c *http.Client, url string, size int64, want hash.Hash) error {
	res, err := c.Post(url, "application/octet-stream", io.LimitReader(newNoise(), size))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if got, want := string(body), fmt.Sprintf(" %d %x <nil>", size, want.Sum(nil)); err != nil || len(got) < 8 || got[8:] != want {
		return fmt.Errorf("the origin got %q, want %q: %v", got, want, err)
	}
	return nil
}

// newNoise returns octets that are always the same and hard to mistake.
func newNoise() io.Reader { return &noise{block: noiseBlock()} }

type noise struct {
	block []byte
	at    int
}

func noiseBlock() []byte {
	b := make([]byte, 1<<20+1) // of no round size, so that a lost block shows
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b)
	return b
}

func (n *noise) Read(b []byte) (int, error) {
	c := copy(b, n.block[n.at:])
	n.at = (n.at + c) % len(n.block)
	return c, nil
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakResident returns the most memory that was ever resident, 0 where the system
// does not tell.
func (p *process) peakResident() int64 {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
	if err != nil {
		return 0
	}
	m := peakLine.FindSubmatch(status)
	if m == nil {
		return 0
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}
