package htpasswd

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"heed/internal/testtool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var here = netip.MustParseAddr("192.0.2.1")

// line is a user whose password is the name backwards, more or less.
func line(t *testing.T, name, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":" + string(hash) + "\n"
}

// open returns users and a count of how often bcrypt ran.
func open(t *testing.T, text string) (*Users, *atomic.Int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u, Counted(u)
}

func check(u *Users, name, password string, from netip.Addr) bool {
	ok, _ := u.Check(context.Background(), name, password, from)
	return ok
}

func TestCheck(t *testing.T) {
	// The same hash as the three programs that write such files name it.
	plain := line(t, "a", "secret")
	y := strings.Replace(strings.Replace(plain, "a:", "y:", 1), "$2a$", "$2y$", 1)
	u, _ := open(t, "# users\n\n"+plain+y+line(t, "é", "pass:word"))
	for _, c := range []struct {
		name, password string
		want           bool
	}{
		{"a", "secret", true}, {"y", "secret", true}, {"é", "pass:word", true},
		{"a", "secre", false}, {"a", "", false}, {"", "", false}, {"", "secret", false}, {"b", "secret", false},
		{"A", "secret", false}, {"a\x00", "secret", false}, {strings.Repeat("a", 300), "secret", false},
	} {
		if got := check(u, c.name, c.password, here); got != c.want {
			t.Errorf("%q with %q: %v, want %v", c.name, c.password, got, c.want)
		}
	}
	if check(nil, "a", "secret", here) || check(&Users{}, "", "", here) {
		t.Error("no users let somebody in")
	}
}

func TestFaults(t *testing.T) {
	good := line(t, "a", "x")
	for _, c := range []struct{ text, want string }{
		{"", "no users"},
		{"# nobody\n", "no users"},
		{good + "b\n", "line 2: not name:hash"},
		{":" + good, "line 1: not name:hash"},
		{"a:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", `line 1: "a" has no bcrypt hash`},
		{"a:secret\n", "no bcrypt hash"},
		{good + good, `line 2: "a" is there twice`},
		{"a:$2y$31$aBkA5l6z5mSOG2zY7vUDIuvQX5CJGXNMl7GfWpcKjjWDvTnT0ZE3W\n", "cost 31"},
	} {
		file := filepath.Join(t.TempDir(), "users")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file, nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a file that is not there has users")
	}
}

func TestBcryptRunsOnceAUser(t *testing.T) {
	const users, requests = 4, 10_000
	var text string
	for i := range users {
		text += line(t, fmt.Sprint("user", i), "secret")
	}
	u, ran := open(t, text)
	var wg sync.WaitGroup
	for i := range users {
		for range 4 {
			wg.Go(func() {
				for range requests / users / 4 {
					if !check(u, fmt.Sprint("user", i), "secret", here) {
						t.Error("refused")
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if n := ran.Load(); n != users {
		t.Errorf("bcrypt ran %d times for %d requests of %d users", n, requests, users)
	}
	if check(u, "user0", "wrong", here) {
		t.Error("a wrong password passes after the right one")
	}
}

func TestFilesOfTheProgramAreRead(t *testing.T) {
	out, err := exec.Command(testtool.Path(t, "htpasswd"), "-nbBC", "5", "alice", "pass word").Output()
	if err != nil {
		t.Fatal(err)
	}
	u, _ := open(t, string(out))
	if !check(u, "alice", "pass word", here) || check(u, "alice", "password", here) {
		t.Errorf("what htpasswd wrote is not understood: %q", out)
	}
}

// Whatever a guesser does, others pass, and he does not make bcrypt run for long.
func TestGuessersAreHeldBackAndNobodyElse(t *testing.T) {
	for _, name := range []string{"alice", "nobody"} {
		t.Run(name, func(t *testing.T) {
			u, ran := open(t, line(t, "alice", "secret")+line(t, "bob", "secret"))
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() { check(u, name, fmt.Sprint("guess", i), here) })
			}
			wg.Wait()
			if n := ran.Load(); n != freeTries {
				t.Errorf("bcrypt ran %d times for 100 guesses, want %d", n, freeTries)
			}
			ok, retry := u.Check(context.Background(), name, "secret", here)
			if ok || retry.IsZero() {
				t.Errorf("after the guesses: %v, retry %v", ok, retry)
			}
			if !check(u, "bob", "secret", here) {
				t.Error("another user of the same address is held back")
			}
			if !check(u, "alice", "secret", netip.MustParseAddr("192.0.2.2")) {
				t.Error("the user is held back elsewhere")
			}
		})
	}
}

func TestHoldsGrowAndEnd(t *testing.T) {
	var b brake
	g := guess{here, "a"}
	var last time.Duration
	for i := range freeTries + 8 {
		b.failed(g)
		held := max(0, time.Until(b.held(g)))
		if i+1 < freeTries && held > 0 || i+1 >= freeTries && (held <= 0 || held > longHold || held < last-time.Second) {
			t.Errorf("after %d failures: held for %v", i+1, held)
		}
		last = held
	}
	b.succeeded(g)
	if !b.held(g).IsZero() {
		t.Error("held after a success")
	}
	for i := range maxGuesses * 2 {
		b.failed(guess{here, fmt.Sprint(i)})
	}
	if n := len(b.fails); n > maxGuesses {
		t.Errorf("%d guesses are remembered", n)
	}
}

// A name that does not exist costs the same work as a wrong password.
func TestUnknownUserCostsAComparison(t *testing.T) {
	u, ran := open(t, line(t, "alice", "secret"))
	var costs []int
	u.compare = func(hash, password []byte) error {
		ran.Add(1)
		c, _ := bcrypt.Cost(hash)
		costs = append(costs, c)
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	check(u, "alice", "wrong", here)
	check(u, "nobody", "wrong", here)
	if ran.Load() != 2 || costs[0] != costs[1] {
		t.Errorf("bcrypt ran %d times, with costs %v", ran.Load(), costs)
	}
}

func TestFileIsReadAgain(t *testing.T) {
	u, _ := open(t, line(t, "alice", "old"))
	var told []error
	u.onReload = func(err error) { told = append(told, err) }
	change := func(text string) {
		if err := os.WriteFile(u.file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(u.file+".new", u.file); err != nil {
			t.Fatal(err)
		}
		u.looked = time.Time{} // the next check looks
	}
	if !check(u, "alice", "old", here) {
		t.Fatal("refused")
	}
	change(line(t, "alice", "new"))
	if check(u, "alice", "old", here) || !check(u, "alice", "new", here) {
		t.Error("the old password passes, or the new one does not")
	}
	change("faulty")
	if !check(u, "alice", "new", here) {
		t.Error("a faulty file locks everybody out")
	}
	change(line(t, "bob", "x"))
	if check(u, "alice", "new", here) || !check(u, "bob", "x", here) || u.Has("alice") || !u.Has("bob") {
		t.Error("a user who was removed passes")
	}
	if len(told) != 3 || told[0] != nil || told[1] == nil || told[2] != nil {
		t.Errorf("told of %v", told)
	}
}

func TestIPv6GuesserIsANetwork(t *testing.T) {
	if network(netip.MustParseAddr("2001:db8::1")) != network(netip.MustParseAddr("2001:db8::ffff:2")) {
		t.Error("two addresses of a /64 are two guessers")
	}
	if network(netip.MustParseAddr("::ffff:192.0.2.1")) != here {
		t.Error("a mapped address is another guesser")
	}
}
