package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"heed/bench/load"
	"heed/bench/origin"
)

// certgen makes squid's certificates; Debian puts it here.
const certgen = "/usr/lib/squid/security_file_certgen"

func squid(path string) Peer {
	p := Peer{Name: "squid", vias: []load.Via{load.Plain, load.Tunnel}}
	if _, err := os.Stat(certgen); err == nil { // not with the package that has no OpenSSL
		p.vias = append(p.vias, load.Intercept)
	}
	p.command = func(s site) (*exec.Cmd, error) {
		conf := squidConf
		if s.via == load.Intercept {
			if err := squidCertificates(s); err != nil {
				return nil, err
			}
			conf += squidBump
		} else {
			conf += "http_port {ADDRESS}\n"
		}
		file, err := s.write("squid.conf", conf)
		return exec.Command(path, "-N", "-f", file), err
	}
	return p
}

// squidConf writes the log that squid writes by default, since heed has one, too.
const squidConf = `http_access allow all
cache deny all
access_log daemon:{DIR}/access.log
cache_log {DIR}/cache.log
cache_store_log none
netdb_filename none
coredump_dir {DIR}
pid_filename none
pinger_enable off
shutdown_lifetime 1 second
visible_hostname squid.invalid
`

const squidBump = `http_port {ADDRESS} ssl-bump tls-cert={DIR}/bump.pem generate-host-certificates=on dynamic_cert_mem_cache_size=4MB
sslcrtd_program ` + certgen + ` -s {DIR}/certificates -M 4MB
tls_outgoing_options cafile={CA}
acl hello at_step SslBump1
ssl_bump peek hello
ssl_bump bump all
`

// squidCertificates makes the CA and the folder where certificates are kept.
func squidCertificates(s site) error {
	if err := origin.SigningCA(s.file("bump.pem")); err != nil {
		return err
	}
	folder := s.file("certificates")
	if out, err := exec.Command(certgen, "-c", "-s", folder, "-M", "4MB").CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(certgen), err, out)
	}
	// squid gives up root before it uses it.
	return filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777)
	})
}
