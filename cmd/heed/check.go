package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heed/fetch"
	"heed/internal/config"
	"heed/policy"
	"heed/proxy"
)

func checkCommand(e env) *cobra.Command {
	k := &checker{env: e}
	c := &cobra.Command{
		Use:   "check [flags] URL...",
		Short: "Would it be allowed? URLs from standard input when the argument is -",
		Long: `Decide on URLs as the proxy does, with the same code, and say which line of
which robots.txt decided. Exit 0 when all are allowed, 1 when one is disallowed,
3 when a robots.txt is unreachable, 2 when a URL is not one.`,
		Example: `  heed check -a mybot https://www.example.org/private/
  heed check --robots robots.txt --json - < urls.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no URL is given")
			}
			return nil
		},
	}
	load := settings(c, e, "agent", "profile")
	c.Flags().StringVar(&k.robots, "robots", "", "decide against this robots.txt `FILE` (- is standard input); no network")
	c.Flags().BoolVar(&k.json, "json", false, "print one JSON object a line")
	c.Flags().BoolVarP(&k.quiet, "quiet", "q", false, "print nothing; the exit code tells")
	c.RunE = func(c *cobra.Command, args []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		if err := k.standardInput(args, c.Flags().Changed("robots")); err != nil {
			return err
		}
		return k.run(c.Context(), loaded.Config, args, c.Flags().Changed("robots"))
	}
	return c
}

// checker is one run of heed check.
type checker struct {
	env
	robots      string
	json, quiet bool

	disallowed, unreachable, malformed int
}

// standardInput refuses to read it twice.
func (k *checker) standardInput(args []string, robotsGiven bool) error {
	n := 0
	for _, a := range args {
		if a == "-" {
			n++
		}
	}
	if robotsGiven && k.robots == "-" {
		n++
	}
	if n > 1 {
		return usage("name files for all but one", "standard input (-) is given %d times and can be read once", n)
	}
	if robotsGiven && k.robots == "" {
		return usage("name a file, or leave --robots out", "--robots is empty")
	}
	return nil
}

func (k *checker) run(ctx context.Context, c config.Config, args []string, fromFile bool) error {
	source, closeSource, err := k.source(c, fromFile)
	if err != nil {
		return err
	}
	defer closeSource()
	d := decider(c, source)
	for url, err := range k.urls(args) {
		if err == nil {
			err = k.check(ctx, d, url)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case k.malformed > 0:
		return &failure{code: exitUsage}
	case k.unreachable > 0:
		return &failure{code: exitUnknown}
	case k.disallowed > 0:
		return &failure{code: exitDisallow}
	}
	return nil
}

// urls yields the arguments, and the lines of standard input in the place of -.
// Empty lines are passed over.
func (k *checker) urls(args []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, a := range args {
			if a != "-" {
				if !yield(a, nil) {
					return
				}
				continue
			}
			lines := bufio.NewScanner(k.stdin)
			lines.Buffer(nil, maxURLLine)
			n := 1
			for ; lines.Scan(); n++ {
				if url := strings.TrimSpace(lines.Text()); url != "" && !yield(url, nil) {
					return
				}
			}
			err := lines.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("longer than %s", config.Size(maxURLLine))
			}
			if err != nil {
				yield("", usage("one URL a line", "standard input, line %d: %w", n, err))
				return
			}
		}
	}
}

// maxURLLine bounds a line of standard input.
const maxURLLine = 1 << 20

// check decides on one URL. A URL that is none is reported and passed over; the
// error is one that ends the run.
func (k *checker) check(ctx context.Context, d proxy.Decider, url string) error {
	target, err := proxy.ParseTarget(url)
	if err != nil {
		k.malformed++
		fmt.Fprintf(k.stderr, "error: %.200q: %v\n", url, err)
		return nil
	}
	decision, access, err := d.Decide(ctx, target)
	if err != nil {
		return &failure{exitUnknown, fmt.Errorf("%s: %w", url, err), ""}
	}
	asked := access.URL != ""
	switch {
	case asked && access.Result == policy.Unreachable:
		k.unreachable++
	case !decision.Allowed():
		k.disallowed++
	}
	if k.quiet {
		return nil
	}
	if k.json {
		return printJSON(k.stdout, newResult(url, decision, access))
	}
	_, err = fmt.Fprintf(k.stdout, "%-9s %s  %s\n", decision.Verdict, printable(url), because(decision, access))
	return err
}

// because is the reason of a decision for people, fit for a terminal.
func because(d policy.Decision, a policy.Access) string {
	switch d.Reason {
	case policy.ReasonRule:
		return fmt.Sprintf("line %d: %s (group %s)", d.Line, printable(d.Rule), d.Group)
	case policy.ReasonNoRule:
		return fmt.Sprintf("no rule matches (group %s)", d.Group)
	case policy.ReasonNoGroup:
		return "no group applies to " + d.Agent
	case policy.ReasonRobotsTXT:
		return "robots.txt itself is always allowed"
	case policy.ReasonUnavailable:
		return "no robots.txt: " + printable(a.Cause)
	case policy.ReasonUnreachable:
		return "robots.txt is unreachable: " + printable(a.Cause)
	case policy.ReasonEgressDenied:
		return printable(a.Cause)
	}
	return string(d.Reason)
}

// source returns where robots.txt files come from, and how to be done with it.
func (k *checker) source(c config.Config, fromFile bool) (proxy.Source, func(), error) {
	if fromFile {
		s, err := k.readFile(int64(c.Robots.MaxSize))
		return s, func() {}, err
	}
	r, err := newReach(c)
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

// result is the JSON form of a decision.
type result struct {
	URL     string         `json:"url"`
	Agent   string         `json:"agent,omitempty"`
	Verdict policy.Verdict `json:"verdict"`
	Reason  policy.Reason  `json:"reason"`
	Group   string         `json:"group,omitempty"`
	Rule    string         `json:"rule,omitempty"`
	Line    int            `json:"line,omitempty"`
	Profile policy.Profile `json:"profile,omitempty"`
	Robots  *resultRobots  `json:"robots,omitempty"`
}

type resultRobots struct {
	URL       string     `json:"url"`
	FinalURL  string     `json:"final_url,omitempty"`
	Status    int        `json:"status,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Retrieved *time.Time `json:"retrieved,omitempty"`
	Stale     bool       `json:"stale,omitempty"`
}

func newResult(url string, d policy.Decision, a policy.Access) result {
	r := result{URL: url, Agent: d.Agent, Verdict: d.Verdict, Reason: d.Reason, Group: d.Group, Rule: d.Rule, Line: d.Line, Profile: d.Profile}
	if a.URL != "" {
		r.Robots = &resultRobots{URL: a.URL, FinalURL: a.FinalURL, Status: a.Status, SHA256: a.SHA256, Stale: a.Stale}
		if !a.Retrieved.IsZero() {
			at := a.Retrieved.UTC()
			r.Robots.Retrieved = &at
		}
	}
	return r
}
