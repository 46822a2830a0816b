package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"heed/policy"
	"heed/proxy"
)

// shelf is robots.txt files by their SHA-256.
type shelf map[string]*policy.Robots

func (s shelf) add(text string) string {
	sum := sha256.Sum256([]byte(text))
	name := hex.EncodeToString(sum[:])
	s[name] = policy.Parse([]byte(text))
	return name
}

func (s shelf) find(sum string) (*policy.Robots, error) {
	if r := s[sum]; r != nil {
		return r, nil
	}
	return nil, errors.New("not on the shelf")
}

// world makes records as a proxy does, of all kinds.
type world struct {
	random *rand.Rand
	files  shelf
	sums   []string
}

func newWorld() *world {
	w := &world{random: rand.New(rand.NewPCG(7, 8)), files: shelf{}}
	for i := range 20 {
		w.sums = append(w.sums, w.files.add(fmt.Sprintf(
			"User-agent: *\nDisallow: /private/\nDisallow: /P%d/\nAllow: /private/ok\nDisallow: /*.php$\n\nUser-agent: newsbot\nDisallow: /x%%41\n", i)))
	}
	return append1(w, "User-agent: *\nAllow: /\n", "", "User-agent: otherbot\nDisallow: /\n", "User-agent: *\nDisallow: private\n")
}

func append1(w *world, texts ...string) *world {
	for _, text := range texts {
		w.sums = append(w.sums, w.files.add(text))
	}
	return w
}

func pick[T any](w *world, of ...T) T { return of[w.random.IntN(len(of))] }

// record makes one.
func (w *world) record(i int) *proxy.Record {
	r := &proxy.Record{ID: fmt.Sprint(i), Event: pick(w, proxy.EventExchange, proxy.EventExchange, proxy.EventOpen, proxy.EventClose), Method: "GET", Enforced: true}
	s := policy.Settings{
		Profile: pick(w, policy.Profiles()...), Tokens: pick(w, []string{"newsbot"}, []string{"newsbot", "other"}, []string{"other"}, []string{"nobody", "newsbot"}),
		OnUnavailable: pick(w, policy.Allow, policy.Disallow), OnUnreachable: pick(w, policy.Disallow, policy.Allow),
	}
	r.URL = fmt.Sprintf("https://h%d.example%s", w.random.IntN(50), pick(w, "/", "/private/a", "/private/ok", "/p3/x", "/P3/x?q=1", "/a.php", "/xA", "/%78A", "/robots.txt", "/private"))
	target, err := policy.ParseTarget(r.URL)
	if err != nil {
		panic(err)
	}
	r.Access = policy.Access{URL: target.Origin.RobotsURL(), Status: 200, SHA256: pick(w, w.sums...), Result: policy.Successful}
	r.Access.Robots = w.files[r.Access.SHA256]
	switch w.random.IntN(10) {
	case 0:
		r.Access = policy.Access{Result: policy.Unavailable, URL: r.Access.URL, Status: 404, Cause: "HTTP status 404"}
	case 1:
		r.Access = policy.Access{URL: r.Access.URL, Cause: "no answer"}
	}
	if w.random.IntN(8) == 0 {
		r.Method, r.URL = "CONNECT", strings.TrimPrefix(target.Origin.String(), "https://")+":443"
		r.Decision = s.Unrestricted(&r.Access)
	} else {
		r.Decision = s.Decide(&r.Access, target)
		if target.IsRobotsTXT() {
			r.Access = policy.Access{} // nobody asks for it
		}
	}
	w.happen(r)
	return r
}

// happen is what may come between a decision and the end of an exchange.
func (w *world) happen(r *proxy.Record) {
	reason := policy.Reason("")
	switch w.random.IntN(12) {
	case 0:
		reason = pick(w, policy.ReasonUpstream, policy.ReasonLimit, policy.ReasonInternal)
	case 1:
		reason = pick(w, policy.ReasonAuth, policy.ReasonBadRequest, policy.ReasonHostMismatch)
		r.Decision, r.Access = policy.Decision{}, policy.Access{}
	case 2:
		r.Decision = policy.Decision{Verdict: pick(w, policy.Allow, policy.Disallow), Reason: policy.ReasonOverride, Override: "allow h.example: by contract"}
		r.Access = policy.Access{}
	case 3:
		r.Enforced = false
	case 4:
		r.Decision.Override = "robots *: as agreed"
	}
	if reason != "" && (r.Decision.Allowed() || r.Decision.Reason == "") {
		r.Decision.Verdict, r.Decision.Reason, r.Err = policy.Error, reason, "it broke"
	}
}

func TestReplayOfAMixedLog(t *testing.T) {
	const n = 100_000
	w := newWorld()
	planted := map[int]bool{}
	for range 2000 {
		planted[w.random.IntN(n)] = true
	}
	again := &Replayer{Robots: w.files.find}
	var counts [5]int
	lies := 0
	for i := range n {
		r := w.record(i)
		lie := planted[i] && w.lie(r)
		if lie {
			lies++
		}
		line := Append(nil, r, QueryKeep)
		var e Entry
		if err := e.Parse(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out := again.Replay(&e)
		counts[out.Outcome]++
		if (out.Outcome == Different) != lie {
			t.Fatalf("lie %t, replay %s: %s\nof %s", lie, out.Outcome, Difference(out.Was, out.Now), line)
		}
	}
	t.Logf("same %d, different %d, not decided by robots.txt %d", counts[Same], counts[Different], counts[NotDecided])
	if lies < 50 || counts[Different] != lies || counts[Same] < n/2 || counts[NoBody]+counts[NoQuery] > 0 || counts[NotDecided] > n/3 {
		t.Errorf("%d lies; outcomes %v", lies, counts)
	}
}

// lie changes a decision of robots.txt, and reports whether there was one.
func (w *world) lie(r *proxy.Record) bool {
	d := &r.Decision
	if d.Reason != policy.ReasonRule || d.Verdict == policy.Error {
		return false
	}
	switch w.random.IntN(5) {
	case 0:
		d.Verdict = map[policy.Verdict]policy.Verdict{policy.Allow: policy.Disallow, policy.Disallow: policy.Allow}[d.Verdict]
	case 1:
		d.Line++
	case 2:
		d.Rule += "x"
	case 3:
		d.Reason, d.Rule, d.Line = policy.ReasonNoRule, "", 0
	default:
		d.Group += "x"
	}
	return true
}

func TestReplayTellsWhatItCannotDecide(t *testing.T) {
	files := shelf{}
	sum := files.add("User-agent: *\nDisallow: /private\n")
	rule := `{"event":"exchange","method":"GET","url":"https://h.example/private","verdict":"disallow","reason":"rule","agent":"heed","group":"*","rule":"Disallow: /private","line":2,"profile":"rfc9309",`
	for _, tt := range []struct {
		name, line string
		replayer   Replayer
		want       Outcome
	}{
		{"the same", rule + `"robots":{"url":"https://h.example/robots.txt","sha256":"` + sum + `"}}`, Replayer{}, Same},
		{"a file that is not kept", rule + `"robots":{"url":"https://h.example/robots.txt","sha256":"00"}}`, Replayer{}, NoBody},
		{"a rule without a file", rule + `"enforced":true}`, Replayer{}, Different},
		{"a query that is not recorded", strings.Replace(rule, `"verdict"`, `"query":"drop","verdict"`, 1) + `"robots":{"sha256":"` + sum + `"}}`, Replayer{}, NoQuery},
		{"under another profile", rule + `"robots":{"sha256":"` + sum + `"}}`, Replayer{Profile: policy.Folded}, Same},
		{"for an agent with the same group", rule + `"robots":{"sha256":"` + sum + `"}}`, Replayer{Tokens: []string{"a", "b"}}, Same},
		{"an override", `{"event":"exchange","verdict":"allow","reason":"override","override":"allow *: so be it"}`, Replayer{}, NotDecided},
		{"a tunnel to a port that is not allowed", `{"event":"exchange","method":"CONNECT","url":"h.example:22","verdict":"disallow","reason":"restricted-tunnel","agent":"heed"}`, Replayer{}, NotDecided},
		{"the log of itself", `{"event":"torn"}`, Replayer{}, NotDecided},
	} {
		var e Entry
		if err := e.Parse([]byte(tt.line)); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		tt.replayer.Robots = files.find
		if got := tt.replayer.Replay(&e); got.Outcome != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got.Outcome, Difference(got.Was, got.Now), tt.want)
		}
	}
}
