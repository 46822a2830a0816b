package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"heed/internal/ca"
	"heed/internal/config"
)

// Exit codes, as documented.
const (
	exitOK       = 0 // done, all allowed, nothing found
	exitDisallow = 1 // at least one disallowed, or findings that matter; not ready
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
	given := e // a wrapped command gets standard output itself
	e.stdout = output{e.stdout}
	root := &cobra.Command{
		Use:           "heed",
		Short:         "A forward proxy that makes crawlers obey robots.txt",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("run '"+c.CommandPath()+" --help' for its flags", "%w", err)
	})
	root.AddCommand(serveCommand(e), runCommand(given), checkCommand(e), lintCommand(e), demoCommand(e), caCommand(e), robotsCommand(e), auditCommand(e),
		configCommand(e), envCommand(e), healthCommand(e), versionCommand(e))
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	wrapArgs(root)
	return report(e.stderr, root.Execute())
}

// output marks an error of standard output as such: whoever reads it got less
// than there was to say, which is no fault of usage.
type output struct{ io.Writer }

func (o output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		err = &failure{exitUnknown, fmt.Errorf("standard output: %w", err), ""}
	}
	return n, err
}

// printJSON prints v as one line, with URLs as they are rather than made safe
// for HTML.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printable is s without what would make a terminal do more than print: it may
// come from a stranger.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// helpCommand is cobra's, but a command that does not exist is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// needsCommand runs a command that only holds others. cobra alone would print
// the help of one that is misspelt, and succeed.
func needsCommand(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return unknownCommand(c, args[0])
	case c.HasParent():
		return usage("run '"+c.CommandPath()+" --help' for its commands", "'%s' needs a command", c.CommandPath())
	}
	return c.Help()
}

func unknownCommand(c *cobra.Command, name string) error {
	hint := "run '" + c.CommandPath() + " --help' for the commands"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(name); name != "" && len(near) > 0 {
		hint = "did you mean '" + c.CommandPath() + " " + near[0] + "'?"
	}
	return usage(hint, "unknown command %q for '%s'", name, c.CommandPath())
}

// noArgs is for commands that take flags alone.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

// wrapArgs makes wrong arguments a usage error, for c and what is below it.
func wrapArgs(c *cobra.Command) {
	if c.HasSubCommands() {
		c.Args, c.RunE = cobra.ArbitraryArgs, needsCommand
	} else if check := c.Args; check != nil {
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
		hint = "'heed config check' reads the same settings and starts nothing"
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
