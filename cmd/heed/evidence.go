package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"heed/internal/admin"
	"heed/internal/audit"
	"heed/internal/audit/bodies"
	"heed/internal/config"
	"heed/policy"
)

// openEvidence opens what decisions are proved with: the audit log and, where
// they are kept, the robots.txt files.
func (s *server) openEvidence(c config.Config, e env) error {
	key, err := auditKey(c.Audit.KeyFile)
	if err != nil {
		return err
	}
	r := c.Audit.Rotate
	s.audit, err = audit.Open(audit.Options{
		Path: c.Audit.Path, Stdout: e.stdout, Events: c.Audit.Events, Query: c.Audit.Query, Client: c.Audit.Client,
		Chain: c.Audit.Chain, Key: key,
		Rotate:  audit.Rotation{Size: int64(r.Size), Every: r.Every, Keep: r.Keep, Compress: r.Compress},
		OnError: func(err error) { s.log.Error("audit log in trouble", "error", err) },
	})
	if err != nil || c.Audit.Bodies == "" {
		return err
	}
	if s.bodies, err = bodies.Open(c.Audit.Bodies); err != nil {
		return fmt.Errorf("audit.bodies: %w", err)
	}
	return s.keepOverrides(c)
}

// maxKeyFile is more than any key needs.
const maxKeyFile = 64 << 10

// auditKey reads the key of the chain; nil when there is none. A newline at its
// end is an editor's.
func auditKey(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	hint := fmt.Sprintf("a file of %d octets or more, such as 'openssl rand -hex 32' makes", audit.MinKey)
	key, err := os.ReadFile(name)
	if err != nil {
		return nil, usage(hint, "audit.key_file: %w", err)
	}
	key = bytes.TrimSuffix(bytes.TrimSuffix(key, []byte("\n")), []byte("\r"))
	if len(key) < audit.MinKey || len(key) > maxKeyFile {
		return nil, usage(hint, "audit.key_file: %s holds %d octets", name, len(key))
	}
	return key, nil
}

// keep keeps a robots.txt before anything is decided on it.
func (s *server) keep(o policy.Origin, a policy.Access, body []byte) {
	healthy := s.bodies.Healthy() == nil
	if err := s.bodies.Keep(a.SHA256, body, o.String(), a.URL, a.Retrieved); err != nil && healthy {
		s.log.Error("robots.txt not kept", "origin", o.String(), "error", err)
	}
}

// keepOverrides keeps the files that the operator puts in the place of a site's.
func (s *server) keepOverrides(c config.Config) error {
	for i, o := range c.Overrides {
		if o.RobotsFile == "" || !o.Expires.IsZero() && !time.Now().Before(o.Expires.AddDate(0, 0, 1)) {
			continue
		}
		_, sum, err := robotsFile(o.RobotsFile, int64(c.Robots.MaxSize))
		if err != nil {
			return usage("'heed config check' reads them, too", "overrides[%d]: %w", i+1, err)
		}
		body, err := os.ReadFile(o.RobotsFile)
		if err == nil {
			err = s.bodies.Keep(sum, body, o.Host, o.RobotsFile, time.Now())
		}
		if err != nil {
			return fmt.Errorf("audit.bodies: %w", err)
		}
	}
	return nil
}

// evidenceChecks are what /readyz asks.
func (s *server) evidenceChecks() []admin.Check {
	checks := []admin.Check{{Name: "audit", Func: s.audit.Healthy}}
	if s.bodies != nil {
		checks = append(checks, admin.Check{Name: "bodies", Func: s.bodies.Healthy})
	}
	return checks
}

// ready says whether exchanges can be recorded as audit.required wants it.
func (s *server) ready() error {
	if s.audit.Writable() == nil {
		return nil
	}
	return errors.New("the decision log cannot be written")
}
