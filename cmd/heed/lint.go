package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"heed/fetch"
	"heed/internal/config"
	"heed/policy"
)

func lintCommand(e env) *cobra.Command {
	l := &linter{env: e}
	c := &cobra.Command{
		Use:   "lint [flags] FILE|URL|-...",
		Short: "What in this robots.txt is ignored, wrong or surprising",
		Long: `Report what in a robots.txt is ignored, wrong or surprising, with line, column
and what to do about it. The argument is a file, a URL (of a site, whose
robots.txt is then fetched), or - for standard input. docs/matching.md lists the
codes. Exit 1 on findings of severity warning or error.`,
		Example: `  heed lint robots.txt
  heed lint --json https://www.example.org/ | jq .code`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no robots.txt is given")
			}
			return nil
		},
	}
	load := settings(c, e)
	c.Flags().BoolVar(&l.json, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&l.all, "all", false, "print all findings of a code, not only the first five")
	c.Flags().BoolVarP(&l.quiet, "quiet", "q", false, "print nothing; the exit code tells")
	c.RunE = func(c *cobra.Command, args []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		if err := standardInputOnce(args...); err != nil {
			return err
		}
		return l.run(c.Context(), loaded.Config, args)
	}
	return c
}

// linter is one run of heed lint.
type linter struct {
	env
	json, all, quiet bool

	matters bool // a finding is a warning or an error
}

func (l *linter) run(ctx context.Context, c config.Config, args []string) error {
	out := bufio.NewWriter(l.stdout)
	for _, name := range args {
		body, media, err := l.read(ctx, c, name)
		if err == nil {
			err = l.lint(out, name, policy.Parse(body).Lines(), policy.LintServed(body, media))
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if l.matters {
		return &failure{code: exitDisallow}
	}
	return nil
}

// lint reports on one robots.txt.
func (l *linter) lint(out *bufio.Writer, name string, lines []string, findings []policy.Finding) error {
	for _, f := range findings {
		l.matters = l.matters || f.Severity > policy.Note
	}
	switch {
	case l.quiet:
		return nil
	case l.json:
		for _, f := range findings {
			if err := printJSON(out, newFinding(name, f)); err != nil {
				return err
			}
		}
		return nil
	}
	return l.print(out, name, lines, findings)
}

// maxLint bounds what is read: findings are still of use on a file that is many
// times too large.
const maxLint = 64 << 20

// read returns a robots.txt and, of one that was served, its media type if that
// is amiss.
func (l *linter) read(ctx context.Context, c config.Config, name string) (body []byte, media string, err error) {
	switch {
	case name == "-":
		body, err = l.readAll("standard input", l.stdin)
		return body, "", err
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return l.fetch(ctx, c, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, "", usage("name a robots.txt file, a URL, or - for standard input", "%w", err)
	}
	defer f.Close()
	body, err = l.readAll(name, f)
	return body, "", err
}

func (l *linter) readAll(name string, in io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, maxLint+1))
	if err != nil {
		return nil, usage("name a robots.txt file, a URL, or - for standard input", "%s: %w", name, err)
	}
	if len(body) > maxLint {
		return nil, usage("no crawler reads as much", "%s is larger than %s", name, config.Size(maxLint))
	}
	return body, nil
}

// fetch gets a URL as robots.txt files are fetched, but as octets: what is wrong
// with them is the question.
func (l *linter) fetch(ctx context.Context, c config.Config, url string) (body []byte, media string, err error) {
	target, err := policy.ParseTarget(url)
	if err != nil {
		return nil, "", usage("write https://HOST/ or the URL of a robots.txt", "%q: %w", url, err)
	}
	if target.Path == "/" {
		url = target.Origin.RobotsURL()
	}
	r, err := newReach(c, l.env)
	if err != nil {
		return nil, "", err
	}
	defer r.transport.CloseIdleConnections()
	client := &http.Client{
		Transport: r.transport,
		Timeout:   c.Robots.Timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > c.Robots.MaxRedirects {
				return fmt.Errorf("more than %d redirects", c.Robots.MaxRedirects)
			}
			return nil
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", usage("write https://HOST/ or the URL of a robots.txt", "%w", err)
	}
	req.Header.Set("User-Agent", userAgent(c.Agent))
	res, err := client.Do(req)
	if err != nil {
		return nil, "", &failure{exitUnknown, err, ""}
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, "", &failure{exitUnknown, fmt.Errorf("%s: %s", url, res.Status), "without a robots.txt that can be read there is nothing to lint; 'heed check' tells what that means"}
	}
	body, err = l.readAll(url, res.Body)
	if err != nil {
		return nil, "", &failure{exitUnknown, err, ""}
	}
	return body, fetch.MediaType(res.Header), nil
}
