package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"heed/internal/config"
	"heed/policy"
	"heed/proxy"
)

const (
	maxURLLine = 1 << 20 // bounds a line of standard input
	feedAhead  = 4096    // URLs that are read before they are decided on
	warmAtOnce = 32      // robots.txt files that are fetched at the same time
)

// feedURL is a URL to decide on.
type feedURL struct {
	url       string
	target    policy.Target
	malformed error // it is not a URL
	err       error // there is no more to be read
}

// readURLs yields the arguments, and the lines of standard input in the place of
// "-", ahead of who decides on them. Empty lines are passed over. It ends with
// its input or with ctx; a read that blocks holds it until the process ends.
func readURLs(ctx context.Context, stdin io.Reader, args []string) <-chan feedURL {
	urls := make(chan feedURL, feedAhead)
	put := func(url string) bool {
		u := feedURL{url: url}
		u.target, u.malformed = proxy.ParseTarget(url)
		return send(ctx, urls, u)
	}
	go func() {
		defer close(urls)
		for _, a := range args {
			if a != "-" {
				put(a)
				continue
			}
			lines := bufio.NewScanner(stdin)
			lines.Buffer(nil, maxURLLine)
			n := 1
			for ; lines.Scan(); n++ {
				if url := strings.TrimSpace(lines.Text()); url != "" && !put(url) {
					return
				}
			}
			err := lines.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("longer than %s", config.Size(maxURLLine))
			}
			if err != nil {
				send(ctx, urls, feedURL{err: usage("one URL a line", "standard input, line %d: %w", n, err)})
				return
			}
		}
	}()
	return urls
}

func send(ctx context.Context, urls chan<- feedURL, u feedURL) bool {
	select {
	case urls <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

// warm passes URLs on, and asks for the robots.txt of every origin as soon as its
// first URL has been read, so that many origins are not waited for one after the
// other. wait returns when all that has ended, which it does with ctx at the
// latest.
func warm(ctx context.Context, read <-chan feedURL, source proxy.Source) (urls <-chan feedURL, wait func()) {
	passed := make(chan feedURL, feedAhead)
	var running sync.WaitGroup
	slots := make(chan struct{}, warmAtOnce)
	asked := map[policy.Origin]bool{}
	ask := func(o policy.Origin) {
		asked[o] = true
		select {
		case slots <- struct{}{}:
			running.Go(func() {
				_, _ = source.Access(ctx, o) // the decision asks again, and tells
				<-slots
			})
		case <-ctx.Done():
		}
	}
	running.Go(func() {
		defer close(passed)
		for u := range read {
			if o := u.target.Origin; o.Host != "" && !asked[o] && !u.target.IsRobotsTXT() {
				ask(o)
			}
			if !send(ctx, passed, u) {
				return
			}
		}
	})
	return passed, running.Wait
}
