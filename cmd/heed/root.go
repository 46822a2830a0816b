package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"heed/internal/ca"
	"heed/internal/config"
)

// Exit codes, as documented.
const (
	exitOK       = 0 // done, all allowed, nothing found
	exitDisallow = 1 // at least one disallowed; not ready
	exitUsage    = 2 // usage or configuration
	exitUnknown  = 3 // could not find out
)

// failure is an error with what its reader needs beside it. Its code is never 0.
type failure struct {
	code int
	err  error // nil: everything has been said already
	hint string
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func usage(hint, format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...), hint}
}

// run executes the command line and returns the exit code.
func run(args []string, e env) int {
	root := &cobra.Command{
		Use:           "heed",
		Short:         "A forward proxy that makes crawlers obey robots.txt",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("run '"+c.CommandPath()+" --help' for its flags", "%w", err)
	})
	root.AddCommand(serveCommand(e), checkCommand(e), demoCommand(e), caCommand(e), configCommand(e), healthCommand(e), versionCommand(e))
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return report(e.stderr, root.Execute())
}

// wrapArgs makes wrong arguments a usage error, for c and what is below it.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usage("run '"+c.CommandPath()+" --help' for how it is used", "%w", err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// report prints err as an error and a hint, and returns its exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code, hint := exitUsage, ""
	var f *failure
	var state *ca.StateError
	var settings *config.Error
	switch {
	case errors.As(err, &f):
		code, hint = f.code, f.hint
		if f.err == nil {
			return code
		}
	case errors.As(err, &settings):
		hint = "'heed config show' prints every setting and where it came from"
	case strings.HasPrefix(err.Error(), "unknown command"):
		hint = "run 'heed --help' for the commands"
	}
	if errors.As(err, &state) && state.Hint != "" {
		hint = state.Hint
	}
	fmt.Fprintf(w, "error: %v\n", err)
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	return code
}
