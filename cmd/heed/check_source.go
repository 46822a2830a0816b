package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"os"

	"heed/fetch"
	"heed/internal/config"
	"heed/policy"
	"heed/proxy"
)

// source returns where robots.txt files come from, and how to be done with it.
func (k *checker) source(c config.Config, fromFile bool) (proxy.Source, func(), error) {
	if fromFile {
		s, err := k.readFile(int64(c.Robots.MaxSize))
		return s, func() {}, err
	}
	r, err := newReach(c, k.env)
	if err != nil {
		return nil, nil, err
	}
	store := fetch.New(storeOptions(c, r.transport, slog.New(slog.DiscardHandler)))
	return store, func() {
		store.Close()
		r.transport.CloseIdleConnections()
	}, nil
}

// readFile reads the one robots.txt that is to rule every origin.
func (k *checker) readFile(maxSize int64) (proxy.Source, error) {
	in, name := k.stdin, "standard input"
	if k.robots != "-" {
		f, err := os.Open(k.robots)
		if err != nil {
			return nil, usage("name a robots.txt file, or - for standard input", "--robots: %w", err)
		}
		defer f.Close()
		in, name = f, k.robots
	}
	body, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, usage("", "--robots: %s: %w", name, err)
	}
	if int64(len(body)) > maxSize {
		return nil, usage("raise robots.max_size", "--robots: %s is larger than robots.max_size (%s)", name, config.Size(maxSize))
	}
	sum := sha256.Sum256(body)
	return oneFile{policy.Parse(body), hex.EncodeToString(sum[:])}, nil
}

// oneFile is a proxy.Source that has the same robots.txt for every origin.
type oneFile struct {
	robots *policy.Robots
	sha256 string
}

func (f oneFile) Access(_ context.Context, o policy.Origin) (policy.Access, error) {
	return policy.Access{Result: policy.Successful, Robots: f.robots, URL: o.RobotsURL(), SHA256: f.sha256}, nil
}
