package htpasswd_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// A guesser tries wrong passwords on a connection that stays.
type guesser struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (h *port) guesser(t *testing.T) *guesser {
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &guesser{t, c, bufio.NewReader(c)}
}

// try returns what a client sees, and after what time.
func (g *guesser) try(method, name string) (seen string, took time.Duration) {
	g.t.Helper()
	target := map[string]string{"GET": "http://h.example/", "CONNECT": "h.example:443"}[method]
	pair := base64.StdEncoding.EncodeToString([]byte(name + ":guess"))
	start := time.Now()
	fmt.Fprintf(g.conn, "%s %s HTTP/1.1\r\nHost: h.example\r\nProxy-Authorization: Basic %s\r\n\r\n", method, target, pair)
	res, err := http.ReadResponse(g.r, &http.Request{Method: method})
	if err != nil {
		g.t.Fatal(err)
	}
	took = time.Since(start)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	res.Header.Del("Date")
	var head strings.Builder
	_ = res.Header.Write(&head)
	return fmt.Sprintf("%s\n%s\n%s", res.Status, &head, body), took
}

// Neither what a client sees nor the time that it takes tells a name that does
// not exist from a wrong password. No name is tried so often that the brake
// answers in the place of bcrypt.
func TestUnknownUserTakesTheTimeOfAWrongPassword(t *testing.T) {
	const rounds, pairs, most = 8, 25, 1.25
	for _, method := range []string{"GET", "CONNECT"} {
		t.Run(method, func(t *testing.T) {
			var users []string
			for i := range rounds * pairs {
				users = append(users, fmt.Sprintf("user%04d", i))
			}
			h := listen(t, 6, users...) // some milliseconds, a hundred times what the rest takes
			g := h.guesser(t)
			ratio := 0.0
			for round := range rounds { // a noisy machine gets another chance
				var known, unknown []time.Duration
				for i := range pairs {
					n := round*pairs + i
					try := func(name string, times *[]time.Duration) string {
						seen, took := g.try(method, name)
						*times = append(*times, took)
						return seen
					}
					var a, b string
					if i%2 == 0 { // neither is always the first
						a, b = try(users[n], &known), try(fmt.Sprintf("none%04d", n), &unknown)
					} else {
						b, a = try(fmt.Sprintf("none%04d", n), &unknown), try(users[n], &known)
					}
					if a != b || !strings.HasPrefix(a, "407 ") {
						t.Fatalf("a wrong password:\n%s\nan unknown user:\n%s", a, b)
					}
				}
				m, n := median(known), median(unknown)
				ratio = max(float64(m)/float64(n), float64(n)/float64(m))
				t.Logf("medians of %d: wrong password %v, unknown user %v", pairs, m, n)
				if ratio <= most {
					break
				}
			}
			if ratio > most {
				t.Errorf("the medians differ by a factor of %.2f, in each of %d rounds", ratio, rounds)
			}
			if n := h.ran.Load(); n == 0 || n%(2*pairs) != 0 {
				t.Errorf("bcrypt ran %d times, want once a guess", n)
			}
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// The brake comes at the same guess for both, and looks the same.
func TestTheBrakeTellsNoNames(t *testing.T) {
	const guesses = 7
	var users []string
	for i := range 20 {
		users = append(users, fmt.Sprint("user", i))
	}
	for _, method := range []string{"GET", "CONNECT"} {
		h := listen(t, bcrypt.MinCost, users...)
		g := h.guesser(t)
		tried := false
		for i := 0; i < len(users) && !tried; i++ {
			var known, unknown []string
			start, ran := time.Now(), h.ran.Load()
			for n := range guesses {
				if n == 4 { // the next failure is the one that holds back, for a second
					start = time.Now()
				}
				a, _ := g.try(method, users[i])
				b, _ := g.try(method, fmt.Sprint("none", i))
				known, unknown = append(known, withoutDelay(a)), append(unknown, withoutDelay(b))
			}
			if time.Since(start) > time.Second/2 {
				continue // so slow a machine may have let go of the one and not of the other
			}
			tried = true
			held := strings.Count(strings.Join(known, ""), "Retry-After: ")
			if !slices.Equal(known, unknown) {
				t.Errorf("%s: of a user %q, of nobody %q", method, known, unknown)
			}
			if n := h.ran.Load() - ran; held == 0 || n != int64(2*(guesses-held)) {
				t.Errorf("%s: %d of %d guesses of each name were held back, and bcrypt ran %d times", method, held, guesses, n)
			}
		}
		if !tried {
			t.Errorf("%s: %d guesses never came within half a second", method, 2*guesses)
		}
	}
}

// withoutDelay leaves out how long is to be waited, which shrinks meanwhile.
func withoutDelay(seen string) string {
	before, after, found := strings.Cut(seen, "Retry-After: ")
	if !found {
		return seen
	}
	_, after, _ = strings.Cut(after, "\r\n")
	return before + "Retry-After: some\r\n" + after
}
