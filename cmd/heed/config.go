package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
)

func configCommand(e env) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check the configuration, or show it with where each value came from"}
	c.AddCommand(configCheck(e), configShow(e))
	return c
}

func configCheck(e env) *cobra.Command {
	c := &cobra.Command{Use: "check", Short: "Report every fault of the configuration; exit 2 when there is one", Args: noArgs}
	load := settings(c, e, "listen", "admin", "agent", "profile", "mode")
	quiet := c.Flags().BoolP("quiet", "q", false, "print nothing when it is valid")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		// What names other files is only known to be good once they are read.
		if _, err := newReach(loaded.Config, e); err != nil {
			return err
		}
		if _, err := decider(loaded.Config, nil); err != nil {
			return err
		}
		if _, err := users(loaded.Config, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		if *quiet {
			return nil
		}
		from := loaded.Path
		if from == "" {
			from = "built-in defaults"
		}
		_, err = fmt.Fprintf(e.stdout, "%s: valid\n", from)
		return err
	}
	return c
}

func configShow(e env) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Print the effective configuration", Args: noArgs}
	load := settings(c, e, "listen", "admin", "agent", "profile", "mode")
	asJSON := c.Flags().Bool("json", false, "print one JSON object a line: key, value, source")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		if !*asJSON {
			_, err = fmt.Fprint(e.stdout, loaded.YAML())
			return err
		}
		for _, s := range loaded.Settings() {
			if err := printJSON(e.stdout, s); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
