package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"heed/fetch"
	"heed/internal/config"
	"heed/policy"
)

func robotsCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "robots",
		Short: "The cached robots.txt files of a running heed, or of a store",
		Long: `Show or change which robots.txt files are cached, how old they are, where they
came from and with what result. Asked is the heed that runs at the admin listener
(admin.listen, or --admin); with --store, the store itself.`,
		Args: noArgs,
	}
	c.AddCommand(
		robotsSub(e, "ls", "List what is cached, one origin a line", noArgs, (*robotsRun).ls),
		robotsSub(e, "show ORIGIN...", "Show all there is to say about an origin's robots.txt", cobra.MinimumNArgs(1), (*robotsRun).show),
		robotsSub(e, "refresh ORIGIN...", "Ask the origin for its robots.txt now", cobra.MinimumNArgs(1), (*robotsRun).refresh),
		robotsSub(e, "forget ORIGIN...", "Drop what is cached; the next request fetches it", cobra.MinimumNArgs(1), (*robotsRun).forget),
	)
	return c
}

// cache is what heed robots looks into.
type cache interface {
	list(context.Context) iter.Seq2[cachedRobots, error]
	show(context.Context, policy.Origin) (r cachedRobots, found bool, err error)
	refresh(context.Context, policy.Origin) (cachedRobots, error)
	forget(context.Context, policy.Origin) (found bool, err error)
}

// robotsRun is one run of heed robots.
type robotsRun struct {
	env
	cache cache
	json  bool
}

func robotsSub(e env, use, short string, args cobra.PositionalArgs, do func(*robotsRun, context.Context, []policy.Origin) error) *cobra.Command {
	r := &robotsRun{env: e}
	c := &cobra.Command{Use: use, Short: short, Args: args}
	load := settings(c, e, "admin")
	store := c.Flags().String("store", "", "look into the store at this `URL` (file:PATH, redis://...), not at a running heed")
	c.Flags().BoolVar(&r.json, "json", false, "print one JSON object a line")
	c.RunE = func(c *cobra.Command, args []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		origins, err := parseOrigins(args)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if !c.Flags().Changed("store") {
			if loaded.Config.Admin.Listen == "" {
				return usage("name the listener with --admin, or a store with --store", "the admin listener is turned off")
			}
			r.cache = remoteCache{dialable(loaded.Config.Admin.Listen), loaded.Config.Admin.Token}
			return do(r, ctx, origins)
		}
		return r.direct(ctx, loaded.Config, *store, func() error { return do(r, ctx, origins) })
	}
	return c
}

// direct opens the store itself for do.
func (r *robotsRun) direct(ctx context.Context, c config.Config, setting string, do func() error) error {
	c.Robots.Store = setting
	if _, faults := c.Validate(); len(faults) > 0 {
		return &config.Error{Faults: faults}
	}
	log := slog.New(slog.NewTextHandler(r.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	backend, err := openBackend(c, log, exitUnknown)
	if err != nil {
		return err
	}
	if backend == nil {
		return usage("ask a running heed (--admin), or name file:PATH or redis://...", "--store memory: is nowhere but inside a running heed")
	}
	defer func() { _ = backend.Close() }()
	reach, err := newReach(c, r.env)
	if err != nil {
		return err
	}
	defer reach.transport.CloseIdleConnections()
	o := storeOptions(c, reach.transport, log)
	o.Backend = backend
	store := fetch.New(o)
	defer store.Close()
	r.cache = cacheOf{store}
	if err := do(); err != nil {
		return err
	}
	store.Close() // what was fetched is saved
	if store.StoreErrors() > 0 {
		return &failure{exitUnknown, fmt.Errorf("the store failed: see above"), ""}
	}
	return nil
}

func parseOrigins(args []string) ([]policy.Origin, error) {
	var origins []policy.Origin
	for _, a := range args {
		t, err := policy.ParseTarget(a)
		if err != nil {
			return nil, usage("an origin is scheme://host or scheme://host:port", "%q: %v", a, err)
		}
		origins = append(origins, t.Origin)
	}
	return origins, nil
}

// unknownIfPlain makes an error that says nothing else one of not finding out.
func unknownIfPlain(err error) error {
	if _, ok := err.(*failure); ok || err == nil {
		return err
	}
	return &failure{exitUnknown, err, ""}
}

func (r *robotsRun) ls(ctx context.Context, _ []policy.Origin) error {
	var all []cachedRobots
	for one, err := range r.cache.list(ctx) {
		if err != nil {
			return unknownIfPlain(err)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b cachedRobots) int { return strings.Compare(a.Origin, b.Origin) })
	if r.json {
		for _, one := range all {
			if err := printJSON(r.stdout, one); err != nil {
				return err
			}
		}
		return nil
	}
	return printTable(r.stdout, all)
}

func (r *robotsRun) show(ctx context.Context, origins []policy.Origin) error {
	return r.each(origins, func(o policy.Origin) (cachedRobots, bool, error) { return r.cache.show(ctx, o) })
}

func (r *robotsRun) refresh(ctx context.Context, origins []policy.Origin) error {
	unreachable := false
	err := r.each(origins, func(o policy.Origin) (cachedRobots, bool, error) {
		one, err := r.cache.refresh(ctx, o)
		unreachable = unreachable || one.Access == policy.Unreachable.String() || one.Failures > 0
		return one, true, err
	})
	if err == nil && unreachable {
		return &failure{code: exitUnknown}
	}
	return err
}

func (r *robotsRun) forget(ctx context.Context, origins []policy.Origin) error {
	missing := false
	for _, o := range origins {
		found, err := r.cache.forget(ctx, o)
		if err != nil {
			return unknownIfPlain(err)
		}
		if !found {
			missing = true
			fmt.Fprintf(r.stderr, "error: nothing is remembered of %s\n", o)
		}
	}
	if missing {
		return &failure{code: exitDisallow}
	}
	return nil
}

// each prints what f says of each origin.
func (r *robotsRun) each(origins []policy.Origin, f func(policy.Origin) (cachedRobots, bool, error)) error {
	missing := false
	for i, o := range origins {
		one, found, err := f(o)
		switch {
		case err != nil:
			return unknownIfPlain(err)
		case !found:
			missing = true
			fmt.Fprintf(r.stderr, "error: nothing is remembered of %s\n", o)
			continue
		case r.json:
			err = printJSON(r.stdout, one)
		default:
			if i > 0 {
				fmt.Fprintln(r.stdout)
			}
			err = one.print(r.stdout)
		}
		if err != nil {
			return err
		}
	}
	if missing {
		return &failure{code: exitDisallow}
	}
	return nil
}
