package config

import (
	"net/netip"
	"time"
)

// Config is every setting, in the shape of config.yaml. The zero value is not
// usable and fails Validate; Load fills in the defaults.
type Config struct {
	Listen   string   `mapstructure:"listen"` // host:port
	TLS      TLS      `mapstructure:"tls"`
	Admin    Admin    `mapstructure:"admin"`
	Mode     string   `mapstructure:"mode"` // enforce | monitor
	Agent    Agent    `mapstructure:"agent"`
	Matching Matching `mapstructure:"matching"`
	Robots   Robots   `mapstructure:"robots"`
	HTTPS    HTTPS    `mapstructure:"https"`
	Egress   Egress   `mapstructure:"egress"`
	Auth     Auth     `mapstructure:"auth"`

	Clients   []Client   `mapstructure:"clients"`
	Overrides []Override `mapstructure:"overrides"`

	Refusal Refusal `mapstructure:"refusal"`
	Limits  Limits  `mapstructure:"limits"`
	Audit   Audit   `mapstructure:"audit"`
	Log     Log     `mapstructure:"log"`
}

// TLS is the certificate of the proxy port; without one it is in the open.
type TLS struct {
	Cert string `mapstructure:"cert"` // PEM file, the chain included; "" together with Key
	Key  string `mapstructure:"key"`  // PEM file
}

// Admin is the listener for health, metrics and the dashboard.
type Admin struct {
	Listen string `mapstructure:"listen"` // host:port; "" is off
	Token  string `mapstructure:"token"`  // bearer token; never shown
}

// Agent is the crawler that heed speaks for.
type Agent struct {
	Tokens    []string `mapstructure:"tokens"`     // most specific first, as configured; at least one
	UserAgent string   `mapstructure:"user_agent"` // "" is the built-in "TOKEN heed/VERSION"
	Rewrite   string   `mapstructure:"rewrite"`    // never | missing | always
}

// Matching is how paths are compared with rules.
type Matching struct {
	Profile string `mapstructure:"profile"`
}

// Robots is how robots.txt files are fetched and kept.
type Robots struct {
	Timeout       time.Duration `mapstructure:"timeout"`
	MaxSize       Size          `mapstructure:"max_size"`
	MaxRedirects  int           `mapstructure:"max_redirects"`
	TTL           time.Duration `mapstructure:"ttl"`
	MinTTL        time.Duration `mapstructure:"min_ttl"`
	ErrorTTL      time.Duration `mapstructure:"error_ttl"`
	StaleFor      time.Duration `mapstructure:"stale_for"`      // 0 is not at all
	OnUnreachable string        `mapstructure:"on_unreachable"` // disallow | allow
	OnUnavailable string        `mapstructure:"on_unavailable"` // allow | disallow
	MaxOrigins    int           `mapstructure:"max_origins"`
	MaxMemory     Size          `mapstructure:"max_memory"`
	MaxFetches    int           `mapstructure:"max_fetches"`
	MaxWaiting    int           `mapstructure:"max_waiting"`
	Store         string        `mapstructure:"store"` // memory: | file:PATH | redis://… | rediss://…
	StoreTimeout  time.Duration `mapstructure:"store_timeout"`
}

// HTTPS is what becomes of CONNECT requests.
type HTTPS struct {
	Mode         string   `mapstructure:"mode"`          // intercept | tunnel
	CADir        string   `mapstructure:"ca_dir"`        // "" is the built-in search
	ConnectPorts []int    `mapstructure:"connect_ports"` // empty is any
	TunnelHosts  []string `mapstructure:"tunnel_hosts"`  // name, *.suffix, IP, each with or without :port; any case
	TunnelPolicy string   `mapstructure:"tunnel_policy"` // unrestricted | allow | deny
	HTTP2        bool     `mapstructure:"http2"`
}

// Egress is which origins may be dialled, and how.
type Egress struct {
	Allow                 []netip.Prefix `mapstructure:"allow"` // masked; IPv4 is never IPv4-mapped
	Deny                  []netip.Prefix `mapstructure:"deny"`
	Proxy                 string         `mapstructure:"proxy"`          // "" is none; env; or a URL, which may hold credentials
	CAFile                string         `mapstructure:"ca_file"`        // "" is none
	InsecureHosts         []string       `mapstructure:"insecure_hosts"` // patterns as in HTTPS.TunnelHosts
	DialTimeout           time.Duration  `mapstructure:"dial_timeout"`
	ResponseHeaderTimeout time.Duration  `mapstructure:"response_header_timeout"`
	IdleTimeout           time.Duration  `mapstructure:"idle_timeout"`
}

// Auth is who may use the proxy.
type Auth struct {
	UsersFile string `mapstructure:"users_file"` // htpasswd; "" lets everybody in
}

// Refusal is how a refusal is worded.
type Refusal struct {
	UnreachableStatus int `mapstructure:"unreachable_status"` // 403 | 503
}

// Limits bounds what a client can make heed hold.
type Limits struct {
	HeaderBytes          Size          `mapstructure:"header_bytes"`
	HeaderTimeout        time.Duration `mapstructure:"header_timeout"`
	IdleTimeout          time.Duration `mapstructure:"idle_timeout"`
	Connections          int           `mapstructure:"connections"`            // 0 is no limit
	ConnectionsPerClient int           `mapstructure:"connections_per_client"` // 0 is no limit
	ShutdownGrace        time.Duration `mapstructure:"shutdown_grace"`         // 0 is none
}

// Audit is the decision log.
type Audit struct {
	Path     string `mapstructure:"path"`     // "-" is stdout, "" is off
	Events   string `mapstructure:"events"`   // all | refused
	Query    string `mapstructure:"query"`    // keep | redact | drop
	Client   string `mapstructure:"client"`   // keep | truncate | hash
	Chain    bool   `mapstructure:"chain"`    // each line holds the hash of the one before
	KeyFile  string `mapstructure:"key_file"` // "" is a chain without a key
	Bodies   string `mapstructure:"bodies"`   // folder; "" keeps none
	Required bool   `mapstructure:"required"` // no requests while the log cannot be written
	Rotate   Rotate `mapstructure:"rotate"`
}

// Rotate is when a file of the decision log is put aside.
type Rotate struct {
	Size     Size          `mapstructure:"size"`  // 0 is never
	Every    time.Duration `mapstructure:"every"` // 0 is never
	Keep     int           `mapstructure:"keep"`  // 0 is all
	Compress bool          `mapstructure:"compress"`
}

// Log is heed's own diagnostics.
type Log struct {
	Level  string `mapstructure:"level"`  // debug | info | warn | error
	Format string `mapstructure:"format"` // text | json
}
