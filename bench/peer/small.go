package peer

import (
	"os"
	"os/exec"

	"heed/bench/load"
)

// tinyproxy is as Debian sets it up, with room for the connections and without
// the log: it syncs each line of that to the disk, which is all it would do.
func tinyproxy(path string) Peer {
	return Peer{Name: "tinyproxy", vias: []load.Via{load.Plain, load.Tunnel}, command: func(s site) (*exec.Cmd, error) {
		file, err := s.write("tinyproxy.conf", `Port {PORT}
Listen 127.0.0.1
Timeout 600
LogFile "{DIR}/tinyproxy.log"
LogLevel Critical
PidFile "{DIR}/tinyproxy.pid"
MaxClients 2000
Allow 127.0.0.0/8
ViaProxyName "tinyproxy"
`)
		return exec.Command(path, "-d", "-c", file), err
	}}
}

// privoxy is as Debian sets it up, filters and all, with room for the connections.
func privoxy(path string) Peer {
	return Peer{Name: "privoxy", vias: []load.Via{load.Plain, load.Tunnel}, command: func(s site) (*exec.Cmd, error) {
		conf := `logdir {DIR}
logfile privoxy.log
listen-address {ADDRESS}
toggle 1
buffer-limit 4096
keep-alive-timeout 300
tolerate-pipelining 1
socket-timeout 300
max-client-connections 2000
`
		const folder = "/etc/privoxy"
		if _, err := os.Stat(folder + "/default.action"); err == nil {
			conf = "confdir " + folder + "\nactionsfile match-all.action\nactionsfile default.action\nfilterfile default.filter\n" + conf
		}
		file, err := s.write("privoxy.conf", conf)
		return exec.Command(path, "--no-daemon", file), err
	}}
}

// haproxy is no forward proxy, but can be made one for addresses: it goes where
// the URL says.
func haproxy(path string) Peer {
	return Peer{Name: "haproxy", vias: []load.Via{load.Plain}, command: func(s site) (*exec.Cmd, error) {
		file, err := s.write("haproxy.cfg", `global
	maxconn 4096
defaults
	mode http
	timeout connect 10s
	timeout client 300s
	timeout server 300s
	http-reuse always
frontend in
	bind {ADDRESS}
	http-request set-dst url_ip
	http-request set-dst-port url_port
	default_backend out
backend out
	server any 0.0.0.0:0
`)
		return exec.Command(path, "-db", "-f", file), err
	}}
}

// mitmproxy is mitmdump, which is to say nothing of each request.
func mitmproxy(path string) Peer {
	return Peer{Name: "mitmproxy", vias: []load.Via{load.Plain, load.Tunnel, load.Intercept}, http2: true, command: func(s site) (*exec.Cmd, error) {
		args := []string{
			"-q", "--listen-host", "127.0.0.1", "--listen-port", s.port,
			"--set", "confdir=" + s.dir, "--set", "ssl_verify_upstream_trusted_ca=" + s.origin.CAFile,
		}
		if s.via == load.Tunnel {
			args = append(args, "--ignore-hosts", ".*")
		}
		return exec.Command(path, args...), nil
	}}
}
