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
	load := settingsQuietly(c, e, defaults, flags...)
	return func() (*config.Loaded, error) {
		loaded, err := load()
		if err != nil {
			return nil, err
		}
		for _, w := range loaded.Warnings {
			fmt.Fprintf(e.stderr, "warning: %s\n", w)
		}
		return loaded, nil
	}
}

// settingsQuietly is settingsOver for a command that tells of warnings itself.
func settingsQuietly(c *cobra.Command, e env, defaults map[string]string, flags ...string) loader {
	path := c.Flags().StringP("config", "c", "", "configuration `FILE` (default: ./config.yaml, then /etc/heed/config.yaml)")
	if len(flags) > 0 {
		config.AddFlags(c.Flags(), flags...)
	}
	return func() (*config.Loaded, error) {
		if c.Flags().Changed("config") && *path == "" {
			return nil, usage("name a file, or leave -c out", "-c is empty")
		}
		return config.Load(config.Options{Path: *path, Defaults: defaults, Environ: e.environ, Flags: c.Flags()})
	}
}

// newLog returns the diagnostics logger of a configuration, and its level, which may
// be changed. net/http has remarks of its own for the standard logger; they are for
// debugging.
func newLog(w io.Writer, c config.Log) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(levelOf(c))
	logger := newLogger(w, c, level)
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(logger.Handler(), slog.LevelDebug).Writer())
	return logger, level
}

func levelOf(c config.Log) (level slog.Level) {
	_ = level.UnmarshalText([]byte(c.Level)) // validated
	return level
}

func newLogger(w io.Writer, c config.Log, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
