package main

import (
	"net"

	"heed/internal/config"
)

// announce says where everything is, and warns.
func (s *server) announce(c config.Config) {
	attrs := []any{"proxy", proxyURL(c.TLS, s.listener.Addr().String()), "mode", c.Mode, "agent", c.Agent.Tokens, "version", version()}
	if s.adminOn != nil {
		attrs = append(attrs, "admin", "http://"+s.adminOn.Addr().String())
	}
	if s.authority != nil {
		attrs = append(attrs, "ca", s.authority.Path())
	}
	s.log.Info("heed is ready", attrs...)
	s.warn(c)
}

// warn says what is out of the ordinary.
func (s *server) warn(c config.Config) {
	if c.Mode == "monitor" {
		s.log.Warn("monitor mode: what robots.txt disallows is noted and let through")
	}
	if c.Robots.OnUnreachable == "allow" {
		s.log.Warn("robots.on_unreachable is allow: sites whose robots.txt cannot be had are crawled, against RFC 9309 2.3.1.4")
	}
	if addr, ok := s.listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && c.Auth.UsersFile == "" {
		s.log.Warn("OPEN PROXY: it listens beyond loopback without authentication, and whoever reaches it can use it; set auth.users_file, or listen on 127.0.0.1",
			"listen", s.listener.Addr().String())
	}
}
