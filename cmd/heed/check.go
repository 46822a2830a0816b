package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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
3 when a robots.txt is unreachable, 2 when a URL is not one.

Results are on standard output, one line a URL, in the order of the URLs; of more
than one URL the sum is on standard error.`,
		Example: `  heed check -a mybot https://www.example.org/private/
  heed check --explain -p strictest https://www.example.org/private/
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
	k.who.flags(c.Flags())
	c.Flags().BoolVar(&k.json, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&k.explain, "explain", false, "say all that led to each decision: group, canonical forms, octets, runner-up")
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
	robots               string
	json, explain, quiet bool
	who                  asker
	entry                int // of clients, which gave the settings
	tunnels              tunnels

	line                                        []byte
	allowed, disallowed, unreachable, malformed int
}

// standardInput refuses to read it twice.
func (k *checker) standardInput(args []string, robotsGiven bool) error {
	if robotsGiven {
		if k.robots == "" {
			return usage("name a file, or leave --robots out", "--robots is empty")
		}
		args = append([]string{k.robots}, args...)
	}
	return standardInputOnce(args...)
}

func standardInputOnce(names ...string) error {
	n := 0
	for _, name := range names {
		if name == "-" {
			n++
		}
	}
	if n > 1 {
		return usage("name files for all but one", "standard input (-) is given %d times and can be read once", n)
	}
	return nil
}

func (k *checker) run(ctx context.Context, c config.Config, args []string, fromFile bool) error {
	source, closeSource, err := k.source(c, fromFile)
	if err != nil {
		return err
	}
	defer closeSource()
	d, err := k.who.decider(c, source)
	if err != nil {
		return err
	}
	k.entry = d.Entry()
	if k.tunnels, err = newTunnels(c.HTTPS); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	urls := readURLs(ctx, k.stdin, args)
	if !fromFile && len(d.Overrides) == 0 && !k.tunnels.all { // either may say that nobody is to be asked
		var wait func()
		urls, wait = warm(ctx, urls, source)
		defer func() { cancel(); wait() }()
	}
	out := bufio.NewWriterSize(k.stdout, 1<<16)
	err = k.checkAll(ctx, d, urls, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	k.sum()
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

// checkAll decides on the URLs as they come. What has been decided is written
// before the next one is waited for.
func (k *checker) checkAll(ctx context.Context, d proxy.Decider, urls <-chan feedURL, out *bufio.Writer) error {
	for {
		var u feedURL
		var ok bool
		select {
		case u, ok = <-urls:
		default:
			if err := out.Flush(); err != nil {
				return err
			}
			u, ok = <-urls
		}
		switch {
		case !ok:
			return nil
		case u.err != nil:
			return u.err
		}
		if err := k.check(ctx, d, out, u); err != nil {
			return err
		}
	}
}

// check decides on one URL. A URL that is none is reported and passed over; the
// error is one that ends the run.
func (k *checker) check(ctx context.Context, d proxy.Decider, out *bufio.Writer, u feedURL) error {
	if u.malformed != nil {
		k.malformed++
		fmt.Fprintf(k.stderr, "error: %.200q: %v\n", u.url, u.malformed)
		return nil
	}
	x, access, err := k.decide(ctx, d, u.target)
	if err != nil {
		return &failure{exitUnknown, fmt.Errorf("%s: %w", u.url, err), ""}
	}
	switch {
	case access.URL != "" && access.Result == policy.Unreachable:
		k.unreachable++
	case x.Allowed():
		k.allowed++
	default:
		k.disallowed++
	}
	if k.quiet {
		return nil
	}
	return k.print(out, u.url, &x, &access)
}

// decide decides as the proxy does, which for https may not see more than a
// CONNECT.
func (k *checker) decide(ctx context.Context, d proxy.Decider, t policy.Target) (x policy.Explanation, access policy.Access, err error) {
	var decided bool
	x.Target = t.Path
	switch x.Decision, access, decided, err = k.tunnels.decide(ctx, d, t); {
	case decided || err != nil:
	case k.explain:
		x, access, err = d.Explain(ctx, t)
	default:
		x.Decision, access, err = d.Decide(ctx, t)
	}
	return x, access, err
}

// sum says how many URLs came out how, if there was more than one.
func (k *checker) sum() {
	n := k.allowed + k.disallowed + k.unreachable + k.malformed
	if k.quiet || n < 2 {
		return
	}
	fmt.Fprintf(k.stderr, "%d URLs: %d allowed, %d disallowed", n, k.allowed, k.disallowed)
	if k.unreachable > 0 {
		fmt.Fprintf(k.stderr, ", %d with an unreachable robots.txt", k.unreachable)
	}
	if k.malformed > 0 {
		fmt.Fprintf(k.stderr, ", %d not URLs", k.malformed)
	}
	fmt.Fprintln(k.stderr)
}
