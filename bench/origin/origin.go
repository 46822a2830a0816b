// Package origin runs the web server that the benchmark asks: nginx with files
// of three sizes, in the open and with TLS, and a robots.txt of thirty rules. For
// hosts that were never asked before there is a server of our own, at every
// address of the loopback interface.
package origin

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"heed/bench/process"
)

// Robots is the robots.txt of all origins: thirty rules as sites write them,
// none of which is about what is asked for.
var Robots = robots()

func robots() string {
	formats := []string{
		"Disallow: /cgi-bin/%d/", "Disallow: /*?sort=%d", "Allow: /media/%d/*.css$", "Disallow: /search/%d",
		"Disallow: /*/print/%d", "Disallow: /tag/%d/feed/$", "Disallow: /wp-admin/%d", "Allow: /wp-admin/admin-ajax-%d.php",
		"Disallow: /private/%d/*.pdf$", "Disallow: /checkout/%d/",
	}
	var b strings.Builder
	b.WriteString("User-agent: Otherbot\nDisallow: /\n\nUser-agent: *\n")
	for i := range 30 {
		fmt.Fprintf(&b, formats[i%len(formats)]+"\n", i*7919%100_003)
	}
	return b.String()
}

// The files, with their sizes.
const (
	Small, SmallSize   = "/articles/1k", 1 << 10
	Medium, MediumSize = "/articles/100k", 100 << 10
	Large, LargeSize   = "/articles/10m", 10 << 20
)

var small = bytes.Repeat([]byte("heed"), SmallSize/4)

// Origin is a running origin.
type Origin struct {
	Plain, Secure string // addresses of nginx
	CAFile        string // who signs all of its certificates
	Version       string

	nginx *process.Process
	hosts *hosts
}

// Start runs an origin that keeps its files in dir.
func Start(ctx context.Context, dir string) (*Origin, error) {
	program, err := process.Find("nginx")
	if err != nil {
		return nil, err
	}
	a, err := newAuthority(Issuer)
	if err != nil {
		return nil, err
	}
	ports, err := process.Ports(2)
	if err != nil {
		return nil, err
	}
	o := &Origin{Plain: ports[0], Secure: ports[1], CAFile: filepath.Join(dir, "ca.pem"), Version: version(program)}
	if err := o.write(dir, a); err != nil {
		return nil, err
	}
	if o.hosts, err = startHosts(a); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "error.log"))
	if o.nginx, err = process.Start(ctx, cmd, dir, o.Plain); err != nil {
		o.Stop()
		return nil, err
	}
	return o, nil
}

// Stop ends it.
func (o *Origin) Stop() {
	if o.nginx != nil {
		o.nginx.Stop()
	}
	_ = o.hosts.server.Close()
}

// Host is the address of a host with TLS that was never asked before.
func (o *Origin) Host() string { return o.hosts.fresh() }

func version(program string) string {
	out, _ := exec.Command(program, "-v").CombinedOutput()
	return strings.TrimSpace(string(out))
}

// write makes the files of nginx.
func (o *Origin) write(dir string, a *authority) error {
	leaf, err := a.leaf(net.IPv4(127, 0, 0, 1))
	if err != nil {
		return err
	}
	if err := writePEM(o.CAFile, nil, a.cert.Raw); err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "origin.pem"), a.key, leaf.Certificate[0]); err != nil {
		return err
	}
	files := map[string][]byte{
		"/robots.txt": []byte(Robots),
		Small:         small,
		Medium:        bytes.Repeat(small, MediumSize/SmallSize),
		Large:         bytes.Repeat(small, LargeSize/SmallSize),
	}
	for name, content := range files {
		name = filepath.Join(dir, "www", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	conf := strings.NewReplacer("DIR", dir, "PLAIN", o.Plain, "SECURE", o.Secure).Replace(nginxConf)
	return os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o644)
}

// nginxConf keeps root where it has it: others may not look into the folder.
const nginxConf = `daemon off;
user root;
worker_processes auto;
worker_rlimit_nofile 16384;
pid DIR/nginx.pid;
error_log DIR/error.log error;
events { worker_connections 8192; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	default_type application/octet-stream;
	keepalive_timeout 300s;
	keepalive_requests 1000000000;
	open_file_cache max=100 inactive=1h;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen PLAIN backlog=4096;
		listen SECURE ssl http2 backlog=4096;
		ssl_certificate DIR/origin.pem;
		ssl_certificate_key DIR/origin.pem;
		ssl_session_cache shared:tls:10m;
		http2_max_concurrent_streams 256;
		root DIR/www;
	}
}
`
