package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"heed/internal/config"
	"heed/internal/htpasswd"
	"heed/policy"
	"heed/proxy"
)

// decider joins the policy of a configuration to a source of robots.txt.
func decider(c config.Config, source proxy.Source) (proxy.Decider, error) {
	d := proxy.Decider{Source: source, Settings: policySettings(c)}
	for _, client := range c.Clients {
		own := c
		if len(client.Tokens) > 0 {
			own.Agent.Tokens = client.Tokens
		}
		if client.Profile != "" {
			own.Matching.Profile = client.Profile
		}
		if client.Mode != "" {
			own.Mode = client.Mode
		}
		d.Clients = append(d.Clients, proxy.Client{
			User: client.User, Networks: client.Networks, Settings: policySettings(own), Monitor: own.Mode == "monitor",
		})
	}
	for i, o := range c.Overrides {
		override, err := newOverride(o, int64(c.Robots.MaxSize))
		if err != nil {
			return proxy.Decider{}, usage("'heed config check' reads them, too", "overrides[%d]: %w", i+1, err)
		}
		d.Overrides = append(d.Overrides, override)
	}
	return d, nil
}

// users are who may use the proxy; nil when everybody may.
func users(c config.Config, log *slog.Logger) (*htpasswd.Users, error) {
	if c.Auth.UsersFile == "" {
		return nil, nil
	}
	u, err := htpasswd.Open(c.Auth.UsersFile, func(err error) {
		if err != nil {
			log.Error("users file not read again; the users stay as they were", "error", err)
			return
		}
		log.Info("users file read again")
	})
	if err != nil {
		return nil, usage("htpasswd -B makes such a file", "auth.users_file: %w", err)
	}
	return u, nil
}

func policySettings(c config.Config) policy.Settings {
	return policy.Settings{
		Profile:       policy.Profile(c.Matching.Profile),
		Tokens:        c.Agent.Tokens,
		OnUnreachable: verdict(c.Robots.OnUnreachable),
		OnUnavailable: verdict(c.Robots.OnUnavailable),
	}
}

func verdict(setting string) policy.Verdict {
	if setting == "allow" {
		return policy.Allow
	}
	return policy.Disallow
}

func newOverride(o config.Override, maxSize int64) (policy.Override, error) {
	host, err := policy.ParseHostPattern(o.Host)
	if err != nil {
		return policy.Override{}, fmt.Errorf("host %q: %w", o.Host, err)
	}
	out := policy.Override{Host: host, Tokens: o.Tokens, Reason: o.Reason}
	if !o.Expires.IsZero() {
		out.Expires = o.Expires.AddDate(0, 0, 1)
		if !time.Now().Before(out.Expires) {
			return out, nil // its file may be gone as well
		}
	}
	switch o.Action {
	case "allow":
		out.Action = policy.ActionAllow
	case "robots":
		out.Action = policy.ActionRobots
	}
	if o.RobotsFile != "" {
		out.Robots, out.SHA256, err = robotsFile(o.RobotsFile, maxSize)
	}
	return out, err
}

// robotsFile reads the robots.txt of an override, all of it.
func robotsFile(name string, maxSize int64) (*policy.Robots, string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", fmt.Errorf("robots_file: %w", err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, "", fmt.Errorf("robots_file: %w", err)
	}
	if int64(len(body)) > maxSize {
		return nil, "", fmt.Errorf("robots_file: %s is larger than robots.max_size (%s)", name, config.Size(maxSize))
	}
	sum := sha256.Sum256(body)
	return policy.Parse(body), hex.EncodeToString(sum[:]), nil
}
