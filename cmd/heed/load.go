package main

import (
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/spf13/cobra"

	"heed/internal/config"
)

// loader loads the configuration of a command.
type loader func() (*config.Loaded, error)

// settings registers -c and the named flags that override settings on c, and
// returns a function that loads the configuration. Warnings go to stderr.
func settings(c *cobra.Command, e env, flags ...string) loader {
	return settingsOver(c, e, nil, flags...)
}

// settingsOver is settings for a command with defaults of its own, by key.
func settingsOver(c *cobra.Command, e env, defaults map[string]string, flags ...string) loader {
	path := c.Flags().StringP("config", "c", "", "configuration `FILE` (default: ./config.yaml, then /etc/heed/config.yaml)")
	if len(flags) > 0 {
		config.AddFlags(c.Flags(), flags...)
	}
	return func() (*config.Loaded, error) {
		if c.Flags().Changed("config") && *path == "" {
			return nil, usage("name a file, or leave -c out", "-c is empty")
		}
		loaded, err := config.Load(config.Options{Path: *path, Defaults: defaults, Environ: e.environ, Flags: c.Flags()})
		if err != nil {
			return nil, err
		}
		for _, w := range loaded.Warnings {
			fmt.Fprintf(e.stderr, "warning: %s\n", w)
		}
		return loaded, nil
	}
}

// newLog returns the diagnostics logger of a configuration. net/http's transport
// has remarks of its own for the standard logger, such as the octets that an origin
// sent unasked; they are for debugging.
func newLog(w io.Writer, c config.Log) *slog.Logger {
	logger := newLogger(w, c)
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(logger.Handler(), slog.LevelDebug).Writer())
	return logger
}

func newLogger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // validated
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
