package proxy_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"heed/policy"
	"heed/proxy"
)

// The robots.txt of every host here. testbot is restricted, freebot is not.
const rulesRobots = "User-agent: testbot\nDisallow: /a\n\nUser-agent: freebot\nAllow: /\n"

// ruleClients are who asks: somebody, a user, and a network.
var ruleClients = []struct {
	name, user string
	entries    []proxy.Client
	entry      int
	free       bool // asks as freebot
	monitor    bool // by an entry; the mode rules the others
}{
	{name: "no entries"},
	{name: "an entry for another", entries: []proxy.Client{entry("bob", nil, true, true), entry("", networks("192.0.2.0/24"), true, true)}},
	{name: "a user", user: "alice", entries: []proxy.Client{entry("bob", nil, false, true), entry("alice", nil, true, false)}, entry: 2, free: true},
	{name: "a network", entries: []proxy.Client{entry("", networks("127.0.0.0/8"), false, true)}, entry: 1, monitor: true},
	{name: "first match", user: "alice", entries: []proxy.Client{entry("alice", networks("192.0.2.0/24"), true, true), entry("alice", networks("127.0.0.1/32"), true, true),
		entry("alice", nil, false, false)}, entry: 2, free: true, monitor: true},
}

func entry(user string, nets []netip.Prefix, free, monitor bool) proxy.Client {
	token := "testbot"
	if free {
		token = "freebot"
	}
	return proxy.Client{User: user, Networks: nets, Monitor: monitor, Settings: policy.Settings{Tokens: []string{token}}}
}

func networks(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// outcome is a verdict, its reason, and whether the request is carried when it is
// enforced.
type outcome struct {
	verdict policy.Verdict
	reason  policy.Reason
}

var (
	byRule       = outcome{policy.Disallow, policy.ReasonRule}
	byOverride   = outcome{policy.Disallow, policy.ReasonOverride}
	okOverride   = outcome{policy.Allow, policy.ReasonOverride}
	okRule       = outcome{policy.Allow, policy.ReasonRule}
	okNoRule     = outcome{policy.Allow, policy.ReasonNoRule}
	unchecked    = outcome{policy.Allow, policy.ReasonUnchecked}
	unrestricted = outcome{policy.Allow, policy.ReasonUnrestrictedTunnel}
	restricted   = outcome{policy.Disallow, policy.ReasonRestrictedTunnel}
)

// ruleOverrides say for each kind of override what becomes of a request, and of a
// tunnel under each policy, for testbot and for freebot.
var ruleOverrides = []struct {
	name      string
	overrides []policy.Override
	used      string
	request   [2]outcome
	tunnel    map[proxy.TunnelPolicy][2]outcome
}{
	{"none", nil, "", [2]outcome{byRule, okRule}, tunnels(
		[2]outcome{restricted, unrestricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
	{"for another host", []policy.Override{override("*.h.example", policy.ActionDeny)}, "", [2]outcome{byRule, okRule}, tunnels(
		[2]outcome{restricted, unrestricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
	{"expired", []policy.Override{overdue(override("*", policy.ActionDeny))}, "", [2]outcome{byRule, okRule}, tunnels(
		[2]outcome{restricted, unrestricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
	{"allow, then deny", []policy.Override{override("h.example", policy.ActionAllow), override("*", policy.ActionDeny)}, "allow h.example: why", [2]outcome{okOverride, okOverride}, tunnels(
		[2]outcome{okOverride, okOverride}, [2]outcome{okOverride, okOverride}, [2]outcome{restricted, restricted})},
	{"deny", []policy.Override{override("x.example", policy.ActionAllow), override("*", policy.ActionDeny)}, "deny *: why", [2]outcome{byOverride, byOverride}, tunnels(
		[2]outcome{byOverride, byOverride}, [2]outcome{byOverride, byOverride}, [2]outcome{byOverride, byOverride})},
	{"a robots.txt that allows", []policy.Override{withRobots("User-agent: *\nDisallow:\n")}, "robots h.example: why", [2]outcome{okNoRule, okNoRule}, tunnels(
		[2]outcome{unrestricted, unrestricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
	{"a robots.txt that disallows", []policy.Override{withRobots("User-agent: *\nDisallow: /\n")}, "robots h.example: why", [2]outcome{byRule, byRule}, tunnels(
		[2]outcome{restricted, restricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
	{"other tokens", []policy.Override{withTokens("freebot")}, "robots h.example: why", [2]outcome{okRule, okRule}, tunnels(
		[2]outcome{unrestricted, unrestricted}, [2]outcome{unchecked, unchecked}, [2]outcome{restricted, restricted})},
}

func tunnels(unrestricted, allow, deny [2]outcome) map[proxy.TunnelPolicy][2]outcome {
	return map[proxy.TunnelPolicy][2]outcome{proxy.TunnelUnrestricted: unrestricted, proxy.TunnelAllow: allow, proxy.TunnelDeny: deny}
}

func override(host string, action policy.Action) policy.Override {
	p, err := policy.ParseHostPattern(host)
	if err != nil {
		panic(err)
	}
	return policy.Override{Host: p, Action: action, Reason: "why"}
}

func overdue(o policy.Override) policy.Override {
	o.Expires = time.Now().Add(-time.Second)
	return o
}

func withRobots(text string) policy.Override {
	o := override("h.example", policy.ActionRobots)
	o.Robots = policy.Parse([]byte(text))
	return o
}

func withTokens(tokens ...string) policy.Override {
	o := override("h.example", policy.ActionRobots)
	o.Tokens = tokens
	return o
}

func TestClientsOverridesModesAndTunnelPolicies(t *testing.T) {
	plain, secure := origins(t, func(http.ResponseWriter, *http.Request) {})
	request := "http://h.example:" + plain.URL[strings.LastIndexByte(plain.URL, ':')+1:] + "/a"
	tunnelled := "https://h.example:" + secure.URL[strings.LastIndexByte(secure.URL, ':')+1:] + "/a"
	for _, client := range ruleClients {
		for _, over := range ruleOverrides {
			for _, mode := range []bool{false, true} {
				w := wanted{monitor: mode, user: client.user, entry: client.entry, override: over.used}
				if client.entry > 0 {
					w.monitor = client.monitor
				}
				group := map[bool]int{true: 1}[client.free]
				change := func(o *proxy.Options) {
					o.Monitor, o.Decider.Clients, o.Decider.Overrides = mode, client.entries, over.overrides
					o.Authenticate = passwords{"alice": "secret", "": ""}.check
					o.Leaf = nil
				}
				name := fmt.Sprintf("%s, override %s, monitor %v", client.name, over.name, mode)
				t.Run(name, func(t *testing.T) {
					w.outcome = over.request[group]
					w.check(t, start(t, robots{all: rulesRobots}, nil, change), request)
				})
				for policyOf, outcomes := range over.tunnel {
					t.Run(fmt.Sprintf("%s, tunnel policy %d", name, policyOf), func(t *testing.T) {
						h := start(t, robots{all: rulesRobots}, nil, change, func(o *proxy.Options) { o.TunnelPolicy = policyOf })
						w.ofTunnel(policyOf, outcomes[group]).check(t, h, tunnelled)
					})
				}
			}
		}
	}
}

// wanted is what a row asks for.
type wanted struct {
	outcome
	user     string
	entry    int
	monitor  bool
	override string
}

// ofTunnel is w for a tunnel that cannot be read.
func (w wanted) ofTunnel(p proxy.TunnelPolicy, o outcome) wanted {
	w.outcome = o
	if o == unchecked || p == proxy.TunnelDeny && o == restricted {
		w.override = "" // the policy decides without asking
	}
	if w.monitor && o == restricted {
		w.outcome = unchecked
	}
	return w
}

// check asks for the URL, and looks at the first record of it.
func (w wanted) check(t *testing.T, h *heed, target string) {
	t.Helper()
	c := h.client(false)
	tr := c.Transport.(*http.Transport)
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the tunnel is not what is tried here
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: h.addr, User: url.UserPassword(w.user, map[bool]string{true: "secret"}[w.user != ""])})
	status := 0
	res, err := c.Get(target)
	if err == nil {
		status = res.StatusCode
		_ = bodyErr(res)
	}
	if carried := w.verdict == policy.Allow || w.monitor; carried != (status == 200) {
		t.Errorf("status %d, error %v; carried: want %v", status, err, carried)
	}
	r := h.wait(1)[0]
	got := wanted{outcome{r.Decision.Verdict, r.Decision.Reason}, r.User, r.ClientEntry, !r.Enforced, r.Decision.Override}
	if got != w {
		t.Errorf("got  %+v\nwant %+v", got, w)
	}
	tr.CloseIdleConnections()
}

// What a request says of itself is no part of the choice.
func TestARequestDoesNotChooseItsClient(t *testing.T) {
	plain, _ := origins(t, func(http.ResponseWriter, *http.Request) {})
	h := start(t, robots{all: rulesRobots}, nil, func(o *proxy.Options) {
		o.Decider.Clients = []proxy.Client{entry("alice", nil, true, true), entry("", networks("10.0.0.0/8"), true, true)}
	})
	res := h.raw("GET", "GET "+plain.URL+"/a HTTP/1.1\r\nHost: h.example\r\nUser-Agent: freebot\r\nFrom: alice\r\n"+
		"X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nProxy-Authorization: "+basic("alice", "")+"\r\n\r\n")
	if r := h.wait(1)[0]; res.StatusCode != 403 || r.ClientEntry != 0 || r.User != "" || !r.Enforced {
		t.Errorf("%d, record %+v", res.StatusCode, r)
	}
}
