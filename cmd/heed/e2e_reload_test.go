package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// generation is a valid configuration that can be told from the others by what
// marker.example is answered, and that changes the ways out and the limits, too.
func generation(n int) string {
	return fmt.Sprintf(`
overrides: [{host: marker.example, action: deny, reason: "generation %d"}]
egress: {deny: ["10.%d.0.0/16"]}
limits: {connections: %d}
refusal: {unreachable_status: %d}
https: {tunnel_hosts: [pinned%d.example]}
`, n, n%256, 1000+n, []int{403, 503}[n%2], n)
}

// broken are configurations with a fault of each kind: what the file says, what it
// says together, and what it names.
var broken = []string{
	"mode: nonsense\n", "limits: {connections: 1", "clients: [{user: me}]\n", "no_such_key: 1\n",
	"overrides: [{host: a.example, action: robots, robots_file: no-such-file, reason: x}]\n",
	"egress: {deny: [10.0.0.5/8]}\n", "auth: {users_file: no-such-file}\n",
}

var generationPattern = regexp.MustCompile(`generation (\d+)`)

// inForce returns the generation by which requests are judged.
func (p *process) inForce(c *http.Client) string {
	p.t.Helper()
	a, err := fetchURL(c, "http://marker.example/")
	if err != nil || a.status != 403 {
		p.t.Fatalf("marker: %d %q %v", a.status, a.body, err)
	}
	if m := generationPattern.FindStringSubmatch(a.body); m != nil {
		return m[1]
	}
	return ""
}

func (p *process) hangup() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		p.t.Fatal(err)
	}
}

// Valid and broken configurations by turns, under load: no request fails, no record
// is lost, and at each step the right configuration is in force. TEST_FULL does it
// 200 times.
func TestReloadUnderLoad(t *testing.T) {
	times := 24
	if full() {
		times = 200
	}
	plain, secure := newSite(t, false, false, ""), newSite(t, true, true, "")
	p := newProcess(t, []*site{plain, secure})
	p.writeConfig(generation(0))
	p.start()
	var served sync.Map
	var count atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	var once sync.Once
	finish := func() {
		once.Do(func() { close(done) })
		wg.Wait()
	}
	defer finish()
	for i := range 8 {
		c, origin := p.client(i%4 == 0), plain
		if i%2 == 0 {
			origin = secure
		}
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				path := fmt.Sprintf("/%d/%d", i, n)
				if a, err := fetchURL(c, origin.URL+path); err != nil || a.status != 200 || a.body != "hello from "+path {
					t.Errorf("%s: %d %q %v", path, a.status, a.body, err)
					return
				}
				served.Store(origin.URL+path, true)
				count.Add(1)
			}
		})
	}
	asker, want, failures := p.client(false), "0", p.metric("heed_config_reload_failures_total")
	for n := 1; n <= times; n++ {
		if n%2 == 0 {
			p.writeConfig(broken[n/2%len(broken)])
			p.hangup()
			before := failures
			eventually(t, "a broken file is counted", func() bool {
				failures = p.metric("heed_config_reload_failures_total")
				return failures > before
			})
		} else {
			want = fmt.Sprint(n)
			p.writeConfig(generation(n))
			p.hangup()
			eventually(t, "the file is in force", func() bool { return p.inForce(asker) == want })
		}
		if got := p.inForce(asker); got != want {
			t.Fatalf("step %d: generation %s is in force, want %s", n, got, want)
		}
		failures = p.metric("heed_config_reload_failures_total")
	}
	finish()
	p.checkRecords(&served)
	t.Logf("%d reloads, %d requests", times, count.Load())
}

// checkRecords ends heed and looks for exactly one record of each URL.
func (p *process) checkRecords(served *sync.Map) {
	p.t.Helper()
	logged := map[string]int{}
	for _, r := range p.records() {
		logged[fmt.Sprint(r["url"])]++
	}
	served.Range(func(url, _ any) bool {
		if n := logged[url.(string)]; n != 1 {
			p.t.Errorf("%s has %d records", url, n)
		}
		return true
	})
}

// A change of the file is enough, however the file is replaced.
func TestReloadByTheFileAlone(t *testing.T) {
	origin := newSite(t, false, false, "")
	p := newProcess(t, []*site{origin})
	file := filepath.Join(p.dir, "config.yaml")
	mounted := func(n int, text string) { // as Kubernetes mounts a ConfigMap
		t.Helper()
		folder := fmt.Sprintf("..%d", n)
		if err := os.Mkdir(filepath.Join(p.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, folder, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(p.dir, "..data")
		_ = os.Remove(link + "_tmp")
		if err := os.Symlink(folder, link+"_tmp"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+"_tmp", link); err != nil {
			t.Fatal(err)
		}
	}
	mounted(0, generation(0))
	if err := os.Symlink(filepath.Join("..data", "config.yaml"), file); err != nil {
		t.Fatal(err)
	}
	p.start()
	c := p.client(false)
	becomes := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("generation %d is in force", n), func() bool { return p.inForce(c) == fmt.Sprint(n) })
	}
	becomes(0)
	mounted(1, generation(1))
	becomes(1)
	p.writeConfig(generation(2)) // in the place of the link
	becomes(2)
	if err := os.WriteFile(file, []byte(generation(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	becomes(3)
	p.writeConfig("mode: nonsense\n")
	eventually(t, "the fault is counted", func() bool { return p.metric("heed_config_reload_failures_total") == 1 })
	p.writeConfig("") // half of a replacement, and no configuration
	p.writeConfig(generation(4))
	becomes(4)
	if n := p.metric("heed_config_reload_failures_total"); n != 1 {
		t.Errorf("%v faults are counted", n)
	}
	for _, want := range []string{
		`level=ERROR msg="configuration is not reloaded, the one before stays in force" cause="the file has changed"`, "mode = nonsense: not a known value",
		`msg="configuration changed" key=refusal.unreachable_status from=403 to=503`,
		`msg="configuration changed" key=overrides from="[{host: marker.example, action: deny, reason: generation`,
	} {
		if !strings.Contains(p.log(), want) {
			t.Errorf("%s is not in:\n%s", want, p.log())
		}
	}
}

// What needs a restart is named and not done, what is secret is not shown, and what
// the environment and flags say goes on to count.
func TestReloadSaysWhatItDoesNotDo(t *testing.T) {
	origin := newSite(t, false, false, "User-agent: otherbot\nDisallow: /\n")
	p := newProcess(t, []*site{origin}, "HEED_MODE=enforce")
	p.writeConfig("log: {level: info}\n")
	p.start()
	p.writeConfig(`
admin: {token: s3cret}
agent: {tokens: [otherbot]}
mode: monitor
egress: {proxy: "http://me:s3cret@127.0.0.1:1"}
limits: {idle_timeout: 7s}
log: {level: debug}
`)
	p.hangup()
	eventually(t, "the reload", func() bool { return strings.Contains(p.log(), `msg="configuration is reloaded" cause=SIGHUP`) })
	for _, want := range []string{
		`level=WARN msg="this change needs a restart" key=admin.token from="\"\"" to="\"********\""`,
		`level=WARN msg="this change needs a restart" key=limits.idle_timeout from=2m to=7s`,
		`msg="configuration changed" key=egress.proxy from="\"\"" to=http://********@127.0.0.1:1`,
		`msg="configuration changed" key=log.level from=info to=debug`,
		`changed=2 need_restart="[admin.token limits.idle_timeout]"`,
	} {
		if !strings.Contains(p.log(), want) {
			t.Errorf("%s is not in:\n%s", want, p.log())
		}
	}
	if strings.Contains(p.log(), "s3cret") || strings.Contains(p.log(), "key=mode") || strings.Contains(p.log(), "key=agent") {
		t.Errorf("diagnostics:\n%s", p.log())
	}
	c := p.client(false)
	if a, err := fetchURL(c, origin.URL+"/x"); err != nil || a.status != 403 {
		t.Errorf("through a proxy that is not there: %d %v", a.status, err)
	}
	p.writeConfig("log: {level: debug}\n")
	p.hangup()
	eventually(t, "the second reload", func() bool { return strings.Count(p.log(), `msg="configuration is reloaded" cause=SIGHUP`) == 2 })
	if a, err := fetchURL(c, origin.URL+"/x"); err != nil || a.status != 200 {
		t.Errorf("after the way out has changed: %d %v %s", a.status, err, a.body)
	}
}
